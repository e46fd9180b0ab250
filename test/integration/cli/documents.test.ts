// `sheaf docs patch`, `sheaf aliases` and `sheaf export` against a real server: what they change and write, the exit
// codes and the messages.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runInProcess, type Ran } from '../../kit/cli.js';
import { startTestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';

const server = await startTestServer();
const { call } = server;
const BASE = '/v1/collections/acme';
const folder = tempDirectory();
const sheaf = (...args: string[]): Promise<Ran> => runInProcess([...args, '--url', server.url, '-t', 'acme']);

for (let n = 0; n < 6; n++)
  await call('POST', `${BASE}/docs/documents`, { docid: `D${n}`, text: `Captain ${n}.`, metadata: { n, draft: true } });

const own = async (docid: string): Promise<Record<string, unknown>> => {
  const { metadata, version, expires_at } = (await call('GET', `${BASE}/docs/documents/${docid}`)).json;
  const { docid: _id, ingested_at: _time, ...fields } = metadata;
  return { ...fields, version, ...(expires_at && { expires_at }) };
};

test('metadata and expiry of one document, of several, and of those that match', async () => {
  const one = await sheaf(
    'docs',
    'patch',
    'D0',
    '-c',
    'docs',
    '--set',
    'lang=fr',
    '--set',
    'year=1870',
    '--unset',
    'draft',
  );
  assert.deepEqual([one.code, one.stdout, one.stderr], [0, 'D0 has version 2 now.\n', '']);
  assert.deepEqual(await own('D0'), { n: 0, lang: 'fr', year: 1870, version: 2 });
  const several = await sheaf('docs', 'patch', 'D1', 'D2', '-c', 'docs', '--metadata', '{"tags":["a"]}', '--replace');
  assert.deepEqual([several.code, several.stdout], [0, '2 documents changed.\n'], several.stderr);
  assert.deepEqual(await own('D2'), { tags: ['a'], version: 2 });
  const args = ['docs', 'patch', '-c', 'docs', '--filter', 'n>=3', '--set', 'seen=true'];
  assert.equal((await sheaf(...args, '--dry-run')).stdout, '3 documents would be changed.\n');
  assert.deepEqual(await own('D3'), { n: 3, draft: true, version: 1 });
  assert.equal((await sheaf(...args)).stdout, '3 documents changed.\n');
  assert.deepEqual(await own('D3'), { n: 3, draft: true, seen: true, version: 2 });
  const until = ['docs', 'patch', 'D3', '-c', 'docs', '--expires-at'];
  assert.equal((await sheaf(...until, '2090-01-01')).code, 0);
  assert.equal((await own('D3')).expires_at, '2090-01-01T00:00:00.000Z');
  assert.equal((await sheaf(...until, '3900000000')).code, 0);
  assert.equal((await own('D3')).expires_at, new Date(3.9e12).toISOString());
  assert.equal((await sheaf(...until, 'never', '--if-version', '4')).code, 0);
  assert.deepEqual(await own('D3'), { n: 3, draft: true, seen: true, version: 5 });
  const late = await sheaf(...until, 'never', '--if-version', '4');
  assert.deepEqual([late.code, /version_conflict/.test(late.stderr)], [1, true], late.stderr);
});

test('a patch that says nothing, or too much, is a wrong command line', async () => {
  for (const args of [
    ['D0'],
    ['--set', 'a=1'],
    ['D0', '--filter', 'n=1', '--set', 'a=1'],
    ['D0', '--set', '=1'],
    ['D0', 'D1', '--set', 'a=1', '--if-version', '1'],
  ]) {
    const { code, stdout } = await sheaf('docs', 'patch', '-c', 'docs', ...args);
    assert.deepEqual([code, stdout], [2, ''], args.join(' '));
  }
  assert.deepEqual(await own('D5'), { n: 5, draft: true, seen: true, version: 2 });
});

test('aliases are set, switched, listed and deleted', async () => {
  await call('POST', `${BASE}/next`);
  assert.equal((await sheaf('aliases')).stdout, 'Tenant acme has no aliases.\n');
  assert.equal((await sheaf('aliases', 'set', 'live', 'docs')).stdout, 'acme/live stands for acme/docs now.\n');
  assert.equal((await sheaf('aliases', 'set', 'live', 'next')).code, 0);
  assert.match((await sheaf('aliases', 'list')).stdout, /alias\s+collection\s+live\s+next/);
  assert.deepEqual(JSON.parse((await sheaf('aliases', '--json')).stdout), { alias: 'live', collection: 'next' });
  const wrong = await sheaf('aliases', 'set', 'docs', 'next');
  assert.deepEqual([wrong.code, /alias_conflict/.test(wrong.stderr)], [1, true], wrong.stderr);
  assert.equal((await sheaf('aliases', 'delete', 'live')).code, 0);
  assert.equal((await call('GET', '/v1/aliases/acme')).json.count, 0);
});

test('documents go into a file, and come back from it', async () => {
  const file = join(folder, 'docs.ndjson');
  const written = await sheaf('export', file, '-c', 'docs');
  assert.deepEqual([written.code, written.stderr], [0, '']);
  assert.match(written.stdout, /docs\.ndjson: [\d.]+ MB in /);
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).docid),
    ['D0', 'D1', 'D2', 'D3', 'D4', 'D5'],
  );
  assert.equal((await sheaf('ingest', '--ndjson', file, '-c', 'copy')).code, 0);
  const again = join(folder, 'again.ndjson');
  assert.equal((await sheaf('export', again, '-c', 'copy')).code, 0);
  assert.equal(readFileSync(again, 'utf8'), readFileSync(file, 'utf8'));
  const some = await sheaf('export', '-', '-c', 'docs', '--filter', 'n>=3', '--after', 'D3', '-n', '1');
  assert.deepEqual([some.code, some.stdout], [0, `${lines[4]}\n`]);
  writeFileSync(again, 'precious');
  const refused = await sheaf('export', again, '-c', 'docs');
  assert.deepEqual([refused.code, readFileSync(again, 'utf8')], [2, 'precious']);
  const missing = await sheaf('export', join(folder, 'none.ndjson'), '-c', 'none');
  assert.deepEqual([missing.code, /collection_not_found/.test(missing.stderr)], [1, true], missing.stderr);
  assert(!existsSync(join(folder, 'none.ndjson')));
});

test('no internal error was logged', () => assert.deepEqual(server.faults, []));

test('a single machine is no node of a cluster', async () => {
  const { code, stderr } = await runInProcess(['cluster', '--url', server.url]);
  assert.equal(code, 2);
  assert.match(stderr, /not a node of a cluster/);
});
