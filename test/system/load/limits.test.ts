// What limits a load: which of the busy resources is named, what its samples say, and a small run of the suite with a
// sampled server.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { profiled } from '../../../load/kit/profile/profiled.js';
import { selfTimes } from '../../../load/kit/profile/self-times.js';
import { startServer } from '../../../load/kit/server.js';
import { LIMITS_TITLE, type Observed, limitOf, timesOf, usersOf } from '../../../load/suite/limits.js';
import { readReport } from '../../../load/suite/render.js';
import { tempDirectory } from '../../kit/temp.js';

/** An observation of ten seconds on two cores. */
const seen = (over: Partial<Observed>): Observed => ({
  name: 'a load',
  seconds: 10,
  cores: 2,
  machineMs: 6000,
  generatorMs: 2000,
  threads: [],
  waits: [],
  commits: [],
  ...over,
});
const search = {
  role: 'search',
  cpuMs: 6000,
  within: [
    ['kernel (WebAssembly)', 0.75],
    ['garbage collection', 0.25],
  ],
} as const;

test('processors that are full are the limit, and who had most of them is named with what it was in', () => {
  const full = seen({
    machineMs: 20_000,
    threads: [
      { role: 'front', cpuMs: 5000, within: [] },
      search,
      { ...search, within: [['kernel (WebAssembly)', 0.25]] },
    ],
  });
  assert.deepEqual(limitOf(full), {
    limit: 'the processors',
    busy: 1,
    share: 'search 60 %: kernel (WebAssembly) 50 % of it',
  });
  assert.deepEqual(
    usersOf(full).map(({ role, threads, cpuMs }) => [role, threads, cpuMs]),
    [
      ['search', 2, 12_000],
      ['front', 1, 5000],
      ['load generator', 1, 2000],
      ['other processes', 0, 1000],
    ],
  );
  assert.equal(limitOf(seen({ machineMs: 19_000 })).share, 'other processes 89 %, then load generator 11 %');
});

test('a saturated thread is the limit although CPUs are idle', () => {
  const front = { role: 'front', cpuMs: 9500, within: [['postMessage (native)', 0.4]] } as const;
  assert.deepEqual(limitOf(seen({ machineMs: 12_000, threads: [front] })), {
    limit: 'one thread, front',
    busy: 0.95,
    share: 'postMessage (native) 40 % of it',
  });
  assert.equal(limitOf(seen({ machineMs: 12_000, generatorMs: 9900 })).limit, 'one thread, load generator');
});

test('commits of a store that follow each other without a pause are the limit', () => {
  assert.deepEqual(
    limitOf(
      seen({
        commits: [
          { name: 'catalog', count: 1, seconds: 0.1 },
          { name: 'shard-0', count: 900, seconds: 9 },
        ],
      }),
    ),
    { limit: 'commits of shard-0', busy: 0.9, share: '90 a second of 10 ms' },
  );
});

test('the report says so where nothing is saturated', () => {
  assert.deepEqual(limitOf(seen({ machineMs: 8000, threads: [search] })), {
    limit: 'nothing is full; busiest: one thread, search',
    busy: 0.6,
    share: 'kernel (WebAssembly) 75 % of it',
  });
});

test('samples are counted by function and file, with idle samples apart and the kernel as one', () => {
  const node = (id: number, functionName: string, url: string) => ({
    id,
    callFrame: { functionName, scriptId: '0', url, lineNumber: 0, columnNumber: 0 },
  });
  const nodes = [
    node(1, '(idle)', ''),
    node(2, 'wasm-function[4]', 'wasm://wasm/1'),
    node(3, 'wasm-function[5]', 'wasm://wasm/1'),
    node(4, 'joinHit', 'file:///x/dist/src/engine/search/hit-json-ABCDEF12.js'),
    node(5, '', 'file:///x/node_modules/p/a.js'),
    node(6, 'postMessage', ''),
    node(7, '(program)', ''),
  ];
  const within = [
    ['kernel (WebAssembly)', 3],
    ['joinHit (src/engine/search/hit-json)', 1],
    ['a function (p/a)', 1],
    ['postMessage (native)', 1],
    ['native code', 1],
  ];
  assert.deepEqual(selfTimes({ nodes, samples: [1, 2, 3, 2, 4, 1, 5, 6, 7] }), { samples: 9, idle: 2, within });
});

test('waits are those of the labels that have counted something', () => {
  const gains: Record<string, number> = {
    'w_sum{pool="search",queue="searches",lane="searches"}': 2,
    'w_count{pool="search",queue="searches",lane="searches"}': 100,
    'w_sum{pool="log",queue="commands",lane="commands"}': 0,
    'w_count{pool="log",queue="commands",lane="commands"}': 0,
  };
  assert.deepEqual(
    timesOf('w', Object.keys(gains), (name) => gains[name] ?? 0),
    [{ name: 'search, searches', count: 100, seconds: 2 }],
  );
});

test('the threads of a server are sampled as often as wanted, each with its role', async (t) => {
  const [folder, profiles] = [tempDirectory(), join(tempDirectory(), 'profiles')];
  mkdirSync(profiles);
  const server = await startServer(folder, {}, { folder: profiles });
  t.after(() => server.kill());
  for (let round = 0; round < 2; round++) {
    const { result, threads } = await profiled(server.pid, profiles, async () => {
      for (let n = 0; n < 100; n++) await (await fetch(`${server.url}/openapi.json`)).text();
      const body = JSON.stringify({ text: 'An owner has something to do.' });
      const headers = { 'content-type': 'application/json' };
      for (let n = 0; n < 20; n++)
        await fetch(`${server.url}/v1/collections/default/docs/documents`, { method: 'POST', headers, body });
      return 'done';
    });
    const roles = new Set(threads.map(({ role }) => role));
    assert.equal(result, 'done');
    for (const role of ['front', 'shard', 'search', 'log', 'V8: compiling, collecting', 'libuv and libraries'])
      assert.ok(roles.has(role), `${role} in round ${round}, of ${[...roles].join(', ')}`);
    const [front] = threads.filter(({ role }) => role === 'front');
    assert.ok(front!.cpuMs > 0 && front!.within.length > 0);
    assert.ok(Math.abs(front!.within.reduce((sum, [, share]) => sum + share, 0) - 1) < 1e-9);
  }
});

test('a run of the suite says what limits each of its loads, in JSON, Markdown and HTML alike', () => {
  const folder = tempDirectory();
  const file = join(folder, 'mine.yaml');
  const head = 'title: Mine\nabout: Of everything something.\nfill: [{ name: notes, of: texts, documents: 20 }]';
  writeFileSync(
    file,
    `name: searched\n${head}\ntraffic: [{ kind: search }]\nclosed_loop: { connections: 2, seconds: 1 }\nrestart: true\n`,
  );
  writeFileSync(join(folder, 'filled.yaml'), `name: filled\n${head}\n`);
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [
      'dist/load/main.js',
      'suite',
      '--tiny',
      '--workload',
      file,
      '--workload',
      join(folder, 'filled.yaml'),
      '--out',
      folder,
    ],
    { encoding: 'utf8' },
  );
  assert.equal(status, 0, stdout + stderr);
  const [searched, filled] = readReport(join(folder, 'report.json')).workloads.map(({ tables }) => tables);
  const rowsOf = (tables: typeof searched, title: string): readonly (readonly string[])[] =>
    tables!.find((table) => table.title === title)?.rows ?? [];
  assert.deepEqual(
    rowsOf(searched, LIMITS_TITLE).map(([load]) => load),
    ['closed loop, 2 connections', 'start after kill -9'],
  );
  assert.deepEqual(
    rowsOf(filled, LIMITS_TITLE).map(([load]) => load),
    ['filling texts'],
  );
  assert.ok(
    rowsOf(searched, 'Who has the processors').some(([, role, , cores]) => role === 'front' && Number(cores) > 0),
  );
  assert.ok(rowsOf(searched, 'What is waited for').some(([, wait]) => wait === 'queue of search, searches'));
  const [, limit] = rowsOf(searched, LIMITS_TITLE)[0]!;
  for (const name of ['REPORT.md', 'report.html']) {
    const text = readFileSync(join(folder, name), 'utf8');
    for (const words of [LIMITS_TITLE, 'Who has the processors', 'What is waited for', limit!])
      assert.ok(text.includes(words), `${words} in ${name}`);
  }
});
