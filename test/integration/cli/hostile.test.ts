// Every command with senseless arguments, and against something that is not a server: one line that says what is wrong,
// an exit code, and never a stack trace.
import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { runInProcess } from '../../kit/cli.js';
import { startFakeServer } from '../../kit/fake-server.js';
import { startTestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';

const server = await startTestServer();
const folder = tempDirectory();
const at = (name: string): string => join(folder, name);
writeFileSync(at('bin'), Buffer.from([0, 255, 254, 1, 2]));
writeFileSync(at('bad.json'), '{');
writeFileSync(at('text'), 'a\nb');
symlinkSync('loop', at('loop'));
mkdirSync(at('empty'));

const VALUES = [
  ...['', '.', '..', '../..', 'a/b', '%', '%2e%2e', ' ', 'a\nb', '日本', '-1', '0', 'NaN', '{}', '[', '{a,', '--', '='],
  ...['a>=', '__proto__=1', 'x'.repeat(5000), 'http://[::1', 'ftp://x', 'http://127.0.0.1:1'],
  ...['nothere', 'empty', 'loop', 'bin', 'bad.json'].map(at),
];

/** `$` stands for the argument. */
const COMMANDS = [
  'ingest $ --ndjson',
  `ingest ${at('empty')} --glob $`,
  'ingest - --docid $',
  `ingest ${at('text')} --metadata $`,
  `ingest ${at('text')} --key $`,
  'search $',
  'search x -t $',
  'search x -k $',
  'search x --filter $',
  'search x --filters $',
  'search x --rerank $',
  'bench --seconds 0.1 --queries $',
  `bench --seconds 0.1 --queries ${at('text')} -c $`,
  `bench --seconds 0.1 --queries ${at('text')} --key $`,
  'collections show $',
  'collections create $',
  'collections create z --embedder $',
  'collections rename $ x',
  'collections rename x $',
  'collections delete $ --yes',
  'docs list -c $',
  'docs show $',
  'docs chunks $',
  'docs delete $',
  'docs delete kept $',
  'docs $',
  'log $',
  'replay $',
  'reindex start --embedder $',
  'reindex follow $',
  'reindex cancel $',
  'keys make -t $',
  'keys make --expires $',
  'keys revoke $',
  `archive ${at('none/a.zip')} -c $`,
  'restore $ --dry-run',
  'restore $ -c docs',
  `restore ${at('bin')} -c docs --from $`,
  'import $',
  `init ${at('sheaf.yaml')} --force --set $`,
  'check $',
  'completion $',
  'serve --port $',
  '$',
].map((command) => command.split(' '));

async function checkRun(args: readonly string[], what: string): Promise<void> {
  const stdin = Object.assign(Readable.from(['a text']), { isTTY: false });
  // runInProcess rejects where an error has no explanation: the program would show its stack trace.
  const { code, stdout, stderr } = await runInProcess(args, { stdin }).catch((error: Error) =>
    assert.fail(`${what}: ${error.stack}`),
  );
  assert.ok([0, 1, 2, 3].includes(code), `${what}: ${code}`);
  assert.ok(code === 0 || stderr !== '', `${what} fails without a word`);
  assert.doesNotMatch(stdout + stderr, /\n +at .+:\d+:\d+|TypeError|internal_error/, what);
}

for (const command of COMMANDS) {
  test(`sheaf ${command.map((word) => word.replace(folder, '')).join(' ')}`, async () => {
    const isLocal = ['init', 'check', 'completion', 'serve', '$'].includes(command[0] as string);
    for (const value of VALUES) {
      const args = command.map((word) => (word === '$' ? value : word));
      await checkRun(
        isLocal ? args : [...args, '--url', server.url],
        `${command.join(' ')} with ${JSON.stringify(value)}`,
      );
    }
  });
}

test('invalid addresses are rejected', async () => {
  for (const value of VALUES)
    for (const command of [
      ['search', 'x'],
      ['archive', at('a.zip')],
      ['bench', '--queries', at('text'), '--seconds', '0.1'],
    ])
      await checkRun([...command, '--url', value], `${command.join(' ')} --url ${JSON.stringify(value)}`);
});

test('no document goes where one of those named cannot be', async () => {
  await server.call('POST', '/v1/collections/default/docs/documents', { docid: 'kept', text: 'Captain Nemo.' });
  const { code, stderr } = await runInProcess(['docs', 'delete', 'kept', '..', '--url', server.url]);
  assert.deepEqual([code, stderr], [2, 'sheaf: ".." cannot be part of an address. Name another.\n']);
  assert.equal((await server.call('GET', '/v1/collections/default/docs/documents/kept')).status, 200);
});

test('a server that is another program is recognized', async (t) => {
  const bodies = ['<html>', '', 'null', '[]', '{}', '"x"', '{"matches":5,"documents":null}'];
  for (const body of bodies) {
    const { url } = await startFakeServer(t, () => ({ text: body }));
    for (const command of COMMANDS.filter(
      ([name]) => !['init', 'check', 'completion', 'serve', '$'].includes(name as string),
    )) {
      const args = command.map((word) => (word === '$' ? 'a' : word));
      await checkRun([...args, '--url', url], `${args.join(' ')} where ${body} is answered`);
    }
  }
});

test('no internal error was logged', () => assert.deepEqual(server.faults, []));
