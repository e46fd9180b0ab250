// Results of commands that a script must be able to trust: a gate that checked nothing, options that would have no
// effect, a reader that goes away, a key that is rejected. Against a real server, in the process of the test.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { test } from 'node:test';
import { runCli } from '../../../src/cli/program.js';
import { SheafClient } from '../../../src/client/client.js';
import { runInProcess, type Ran } from '../../kit/cli.js';
import { startTestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';

const server = await startTestServer({ SHEAF_AUTH__MODE: 'static', SHEAF_AUTH__ADMIN_KEY: 'root' });
const env = { SHEAF_URL: server.url, SHEAF_API_KEY: 'root' };
const sheaf = (...args: string[]): Promise<Ran> => runInProcess(args, { env });

test('a quality gate that has nothing to check does not pass', async () => {
  await sheaf('collections', 'create', 'silent');
  const { code, stdout } = await sheaf('replay', '-c', 'silent', '--min-overlap', '0.9');
  assert.deepEqual([code, stdout], [1, 'There are no logged searches to run again.\n']);
  assert.equal((await sheaf('replay', '-c', 'silent')).code, 0);
});

test('options that contradict each other are refused, and so are those that would be left out', async () => {
  const file = join(tempDirectory(), 'one.ndjson');
  writeFileSync(file, '{"docid":"a","text":"one"}');
  const all = [
    ['search', 'x', '--phrase', 'a', '--contains', 'b'],
    ['ingest', file, '--ndjson', '--docid', 'b'],
    ['ingest', file, '--ndjson', '--glob', '*.md'],
  ];
  for (const args of all) assert.equal((await sheaf(...args)).code, 2, args.join(' '));
});

test('input that breaks off is told in a line, and fails', async () => {
  const lines = async function* (): AsyncGenerator<string> {
    yield '{"docid":"first","text":"one"}\n';
    throw Object.assign(new Error('i/o error'), { code: 'EIO', syscall: 'read' });
  };
  const { code, stderr } = await runInProcess(['ingest', '-', '--ndjson', '-c', 'broken'], {
    env,
    stdin: Readable.from(lines()),
  });
  assert.deepEqual([code, /line: reading failed: .+\./.test(stderr)], [1, true], stderr);
});

test('a listing ends when its reader has gone', async () => {
  const client = new SheafClient({ url: server.url, key: 'root' });
  const documents = Array.from({ length: 50 }, (_, n) => ({ docid: `d${n}`, text: `Number ${n}.` }));
  await client.ingestBatch('default', 'many', documents);
  let written = 0;
  const stdout = new PassThrough();
  stdout.write = () => {
    written++;
    return stdout.emit('error', Object.assign(new Error('broken pipe'), { code: 'EPIPE' }));
  };
  assert.equal(
    await runCli(['node', 'sheaf', 'docs', '-c', 'many'], { stdout, env, serve: () => Promise.resolve(0) }),
    0,
  );
  assert.equal(written, 1);
});

test('a new tenant keeps no key that nobody has, even where the wanted one is refused', async () => {
  assert.equal((await sheaf('keys', 'make', '-t', 'refused', '--new-tenant', '--expires', '2001-01-01')).code, 1);
  const { stdout } = await sheaf('keys', 'list', '-t', 'refused', '--json');
  const keys = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { revoked_at?: string });
  assert.deepEqual(
    keys.map(({ revoked_at: revokedAt }) => revokedAt !== undefined),
    [true],
  );
});

test('no internal error was logged', () => assert.deepEqual(server.faults, []));
