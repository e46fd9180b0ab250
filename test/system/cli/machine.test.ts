// The commands about this machine: a configuration file that the server accepts, the findings of its checks, and a
// progress bar on a real terminal.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { CONFIG_KEYS } from '../../../src/config/keys.js';
import { readConfig } from '../../../src/config/load.js';
import { startFakeServer } from '../../kit/fake-server.js';
import { MAIN } from '../../kit/process.js';
import { tempDirectory } from '../../kit/temp.js';

const folder = tempDirectory();

function sheaf(args: string[], env: Record<string, string> = {}): { code: number | null; out: string; err: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, ...env },
  });
  return { code: status, out: stdout, err: stderr };
}

const has = (program: string): boolean => spawnSync(program, ['--version'], { stdio: 'ignore' }).error === undefined;

test('init writes every key with its default, and the server takes the file with all of them', () => {
  assert.equal(sheaf(['init', 'all.yaml']).code, 0);
  const text = readFileSync(join(folder, 'all.yaml'), 'utf8');
  const lines = text.split('\n').filter((line) => /^# [a-z0-9_.]+: /.test(line));
  assert.deepEqual(
    lines.map((line) => line.slice(2, line.indexOf(':'))),
    CONFIG_KEYS.map(({ path }) => path),
  );
  writeFileSync(join(folder, 'none.yaml'), '');
  writeFileSync(join(folder, 'every.yaml'), lines.map((line) => line.slice(2)).join('\n'));
  const config = (file: string) => readConfig({ SHEAF_CONFIG: join(folder, file) });
  assert.deepEqual(config('all.yaml'), config('none.yaml'));
  assert.deepEqual(
    { ...config('every.yaml'), threads: 0, search: 0, tenantLimits: 0 },
    { ...config('none.yaml'), threads: 0, search: 0, tenantLimits: 0 },
  );
});

test('init sets what is asked for, keeps a file that is there, and refuses what does not go', () => {
  assert.equal(sheaf(['init', 'set.yaml', '--set', 'server.port=9000', '--set', 'auth.mode=static']).code, 0);
  const { port, auth } = readConfig({ SHEAF_CONFIG: join(folder, 'set.yaml') });
  assert.deepEqual([port, auth.mode], [9000, 'static']);
  const cases: [string[], RegExp, code?: number][] = [
    [['set.yaml'], /set\.yaml already exists.*--force/],
    [['a.yaml', '--set', 'server.ports=1'], /is not a configuration key/],
    [['a.yaml', '--set', 'server.port=many'], /server\.port .* should be a whole number/],
    [['retired.yaml', '--set', 'search.threads=3'], /^sheaf: search\.threads .* use threads/m, 0],
    [['none/a.yaml'], /cannot be written: no such file or folder\.\n$/],
    [['/sys/a.yaml'], /a\.yaml cannot be written: no permission\.\n$/, 1],
  ];
  for (const [args, message, expected = 2] of cases) {
    const { code, err } = sheaf(['init', ...args]);
    assert.deepEqual([code, message.test(err)], [expected, true], err);
  }
  assert.equal(readConfig({ SHEAF_CONFIG: join(folder, 'retired.yaml') }).threads.search, 3);
  assert.equal(sheaf(['init', 'set.yaml', '--force']).code, 0);
});

test('doctor names what it finds, and fails where a server could not run', () => {
  const { code, out } = sheaf(['doctor', '--json'], { SHEAF_DATA_DIR: tempDirectory(), SHEAF_SERVER__PORT: '0' });
  const findings = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { name: string; state: string });
  assert.equal(code, 0, out);
  for (const name of [
    'configuration',
    'Node',
    'HTTP library',
    'vector kernel',
    'store',
    'open files',
    'memory locking',
    'huge pages',
    'data directory',
    'room on disk',
    'disk sync',
    'port',
  ])
    assert.ok(
      findings.some((finding) => finding.name === name),
      name,
    );
  const wrong = sheaf(['doctor'], { SHEAF_SERVER__PORT: 'many' });
  assert.deepEqual([wrong.code, /^fail {2}configuration .*SHEAF_SERVER__PORT/m.test(wrong.out)], [1, true], wrong.out);
  assert.deepEqual(sheaf(['doctor'], { SHEAF_DATA_DIR: '/proc/sheaf', SHEAF_SERVER__PORT: '0' }).code, 1);
  const retired = sheaf(['doctor'], {
    SHEAF_DATA_DIR: tempDirectory(),
    SHEAF_SERVER__PORT: '0',
    SHEAF_TRACING__QUEUE_MAX: '',
  });
  assert.deepEqual(
    [retired.code, /^warn {2}configuration .*tracing\.queue_max .*no longer has any effect/m.test(retired.out)],
    [0, true],
    retired.out,
  );
  const foreign = sheaf(['doctor'], { SHEAF_DATA_DIR: '/', SHEAF_SERVER__PORT: '0' });
  assert.deepEqual([foreign.code, /^fail {2}data directory .*not empty/m.test(foreign.out)], [1, true], foreign.out);
});

test('doctor knows a port that another program has', async (t) => {
  const { url } = await startFakeServer(t, () => ({ status: 404, text: 'not here' }));
  const child = spawn(process.execPath, [MAIN, 'doctor'], {
    env: { PATH: process.env.PATH, SHEAF_DATA_DIR: folder, SHEAF_SERVER__PORT: new URL(url).port },
  });
  let out = '';
  child.stdout.on('data', (piece: Buffer) => (out += piece.toString()));
  assert.deepEqual(
    [(await once(child, 'close'))[0], /^fail {2}port .*taken by another program/m.test(out)],
    [1, true],
    out,
  );
});

test('on a terminal an ingest has a bar with rate and time left, and hits are emphasized', {
  skip: !has('script') && 'there is no script(1)',
}, async (t) => {
  const { url } = await startFakeServer(t, async ({ path }) => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    if (!path.endsWith('/search')) return { status: 201, json: { ok: true, chunks: 2 } };
    return {
      json: {
        ok: true,
        matches: [
          {
            id: 'a.md::chunk_0',
            score: 0.5,
            text: 'Captain Nemo',
            meta: {},
            match_reason: '',
            highlight: { text: 'Captain Nemo', offset: 0, matches: [[0, 7]] },
          },
        ],
      },
    };
  });
  for (let n = 0; n < 60; n++) writeFileSync(join(folder, `${n}.md`), 'x');
  const inTerminal = async (command: string): Promise<string> => {
    const child = spawn('script', ['-qec', `${process.execPath} ${MAIN} ${command} --url ${url}`, '/dev/null'], {
      cwd: folder,
      env: { PATH: process.env.PATH, TERM: 'xterm', SHELL: '/bin/sh' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let out = '';
    child.stdout.on('data', (piece: Buffer) => (out += piece.toString()));
    await once(child, 'close');
    return out;
  };
  const shown = await inTerminal("ingest . --glob '*.md' --concurrency 4");
  assert.match(shown, /█+░* 60\/60 files {2}\d+ files\/s {2}[\d.]+ s left/);
  assert.match(await inTerminal('search captain'), /\x1b\[1m\x1b\[33mCaptain\x1b\[39m\x1b\[22m Nemo/);
});
