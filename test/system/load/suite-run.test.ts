// The load suite as a user runs it: a workload file of the user's own against a real server, which leaves three files;
// the list of workloads; what is rejected.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readReport } from '../../../load/suite/render.js';
import { startTestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';

const WORKLOAD = `
name: mine
title: My searches
about: Reads and writes, with an archive beside them.
fill:
  - { name: docs, of: vectors, documents: 60, dim: 16, collections: 2 }
  - { name: notes, of: texts, documents: 20 }
traffic:
  - { kind: search, share: 6, body: { k: 3 } }
  - { kind: search, name: hybrid, share: 2, collection: notes, body: { mode: hybrid } }
  - { kind: read, share: 1 }
  - { kind: ingest, share: 1, documents: 2 }
closed_loop: { connections: 2, seconds: 1 }
open_loop: { rates: [20], seconds: 1 }
beside:
  - { name: archives, kind: archive }
  - { name: other searches, kind: traffic, connections: 1, traffic: [{ kind: search, collection: notes }] }
recall: { queries: 5, k: 3 }
`;

async function suite(...args: string[]): Promise<{ code: number; text: string }> {
  const child = spawn(process.execPath, ['dist/load/main.js', 'suite', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => (text += String(piece)));
  const [code] = (await once(child, 'close')) as [number];
  return { code, text };
}

test("a workload of one's own runs against a server that is there, and is reported in three forms", async () => {
  const server = await startTestServer();
  const folder = tempDirectory();
  const file = join(folder, 'mine.yaml');
  writeFileSync(file, WORKLOAD);
  const { code, text } = await suite(
    '--workload',
    file,
    '--tiny',
    '--url',
    server.url,
    '--api-key',
    'secret-key',
    '--out',
    folder,
    '--report',
    join(folder, 'LOAD.md'),
  );
  assert.equal(code, 0, text);
  const report = readReport(join(folder, 'report.json'));
  const [{ name, figures, tables, charts }] = report.workloads as [(typeof report.workloads)[0]];
  assert.equal(name, 'mine');
  const value = (figure: string): number => figures.find((one) => one.name === figure)?.value ?? NaN;
  assert.ok(
    value('throughput') > 0 &&
      value('docs: documents filled') > 0 &&
      value('p99.9 at 20/s') > 0 &&
      value('p50 beside archives') > 0,
  );
  assert.equal(value('recall@3'), 1);
  assert.equal(value('failed at 20/s'), 0);
  assert.deepEqual(
    tables
      .map(({ title }) => title)
      .filter((title) => /^(By request|Where the time of a search|What a request)/.test(title)).length,
    3,
  );
  assert.ok(charts.length >= 3);
  assert.equal(report.machine.server, server.url);
  const written = ['report.json', 'REPORT.md', 'report.html', 'LOAD.md'].map((path) =>
    readFileSync(join(folder, path), 'utf8'),
  );
  assert.ok(written.every((content) => content.includes('My searches') && !content.includes('secret-key')));
  const left = (await server.call('GET', '/v1/collections/sheaf-load')).json;
  assert.deepEqual(left.collections, [], 'the suite leaves nothing');
});

test('a restart counts the answers to whatever the traffic is, and tells which', async () => {
  const folder = tempDirectory();
  const file = join(folder, 'mine.yaml');
  const fill = 'fill: [{ name: docs, of: vectors, documents: 20, dim: 8 }]';
  writeFileSync(
    file,
    `name: mine\ntitle: Writes\nabout: Restarts between writes.\n${fill}\ntraffic: [{ kind: ingest, documents: 2 }]\nrestart: true\n`,
  );
  const { code, text } = await suite('--workload', file, '--tiny', '--out', folder);
  assert.equal(code, 0, text);
  const figures = readReport(join(folder, 'report.json')).workloads.flatMap((workload) => workload.figures);
  for (const name of ['first ingest of 2 after SIGTERM', 'first ingest of 2 after kill -9'])
    assert.ok(
      figures.some((figure) => figure.name === name && figure.value > 0),
      name,
    );
});

test('a workload that fails leaves nothing on a server that is there either', async () => {
  const server = await startTestServer();
  const folder = tempDirectory();
  const file = join(folder, 'failing.yaml');
  // No search accepts so large a k. Recall is measured last, and of the steps before only the filling is needed.
  const filled = WORKLOAD.replace(/open_loop:[^]*(?=recall:)/, '');
  writeFileSync(file, filled.replace('queries: 5, k: 3', 'queries: 5, k: 9000000'));
  const { code, text } = await suite('--workload', file, '--tiny', '--url', server.url, '--out', join(folder, 'out'));
  assert.deepEqual([code, existsSync(join(folder, 'out'))], [1, false], text);
  assert.match(text, /mine failed: /);
  assert.deepEqual((await server.call('GET', '/v1/collections/sheaf-load')).json.collections, []);
});

test('the list names the workloads, and an unknown one is refused with their names', async () => {
  assert.match((await suite('list')).text, /search-hybrid .+BM25/);
  const { code, text } = await suite('search-vector');
  assert.equal(code, 1);
  assert.match(text, /^there is no workload search-vector, but fill, search-vectors,/);
});

test('comparing wants two reports, and says what is none', async () => {
  assert.match((await suite('compare', 'a.json')).text, /missing required argument 'B'/);
  assert.match((await suite('compare', 'nowhere', 'nowhere')).text, /^nowhere\/report\.json: /);
});

test('a server that is not there is named, and leaves no report', async () => {
  const out = join(tempDirectory(), 'out');
  const { code, text } = await suite('search-text', '--tiny', '--url', 'http://127.0.0.1:9', '--out', out);
  assert.equal(code, 1);
  assert.match(text, /search-text failed: .*127\.0\.0\.1:9/);
  assert.doesNotMatch(text, /^\s+at /m);
  assert.equal(existsSync(out), false);
});
