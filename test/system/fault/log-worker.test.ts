// The query log when its worker blocks or dies, or when the server restarts: searches are not affected, and entries are
// kept.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { holdStore } from '../../kit/held-store.js';
import { spawnServe, untilReady } from '../../kit/process.js';
import { startTestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';

const server = await startTestServer();
const { call } = server;
const docs = '/v1/collections/acme/docs';
await call('POST', `${docs}/documents`, { docid: 'NEMO', text: 'Captain Nemo commands the Nautilus.' });

test('a search writes nothing before it answers: with the log standing still, searches go on', async () => {
  await call('GET', `${docs}/search?q=first`);
  await call('GET', `${docs}/queries`);
  const giveBack = await holdStore(join(server.dataDir, 'query-log'));
  const found = [];
  for (let i = 0; i < 20; i++) {
    const { status, json } = await call('GET', `${docs}/search?q=held+${i}`);
    assert.deepEqual([status, json.matches.length], [200, 1]);
    found.push(json.query_id);
  }
  const read = call('GET', `${docs}/queries/${found[19]}`);
  assert.equal(
    await Promise.race([read.then(() => 'read'), call('GET', `${docs}/search?q=meanwhile`).then(() => 'searched')]),
    'searched',
  );
  await giveBack();
  assert.equal((await read).json.query.query_text, 'held 19');
  const { json } = await call('GET', `${docs}/queries`);
  assert.deepEqual(json.queries.map(({ query_text: text }: { query_text: string }) => text).slice(0, 3), [
    'meanwhile',
    'held 19',
    'held 18',
  ]);
});

test('a worker that is killed is replaced, and no entry is lost or there twice', async () => {
  const base = '/v1/collections/acme/killed';
  await call('POST', `${base}/documents`, { text: 'killed' });
  const ids: string[] = [];
  let running = true;
  const searcher = async (): Promise<void> => {
    while (running) {
      const { status, json } = await call('GET', `${base}/search?q=killed`);
      assert.equal(status, 200);
      ids.push(json.query_id);
    }
  };
  const searching = [searcher(), searcher()];
  for (let kill = 0; kill < 4; kill++) {
    await call('GET', `${base}/queries?limit=1`);
    await server.parts.queryLog.kill();
    assert.equal((await call('GET', `${base}/queries?limit=1`)).status, 200);
  }
  running = false;
  await Promise.all(searching);
  const listed: string[] = [];
  for (let offset = 0; offset < ids.length; offset += 500) {
    const { json } = await call('GET', `${base}/queries?limit=500&offset=${offset}`);
    listed.push(...json.queries.map(({ query_id: id }: { query_id: string }) => id));
  }
  assert.deepEqual(listed.sort(), ids.sort());
  assert.equal((await call('GET', `${base}/queries?offset=${ids.length}`)).json.count, 0);
});

test('a stopped server has written what it logged; the next one has it, within its bounds', async () => {
  const SHEAF_DATA_DIR = tempDirectory();
  const first = spawnServe({ SHEAF_DATA_DIR });
  const url = await untilReady(first);
  const json = async (path: string, init?: RequestInit, from = url): Promise<Record<string, any>> =>
    (await fetch(`${from}${path}`, init)).json() as Promise<Record<string, any>>;
  await json(`${docs}/documents`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"text":"kept"}',
  });
  await json('/v1/collections/acme/dropped', { method: 'POST' });
  const ids: string[] = [];
  for (let i = 0; i < 12; i++) ids.push((await json(`${docs}/search?q=kept+${i}`)).query_id);
  first.child.kill('SIGTERM');
  assert.equal(await first.ended, 0);

  const second = spawnServe({ SHEAF_DATA_DIR, SHEAF_QUERY_LOG__MAX_ENTRIES: '5' });
  const next = await untilReady(second);
  assert.equal((await json(`${docs}/queries/${ids[11]}`, undefined, next)).query.query_text, 'kept 11');
  const { query_id: newest } = await json(`${docs}/search?q=newest`, undefined, next);
  const { queries } = await json(`${docs}/queries`, undefined, next);
  assert.deepEqual(
    queries.map(({ query_id: id }: { query_id: string }) => id),
    [newest, ...ids.slice(-4).reverse()],
  );
  second.child.kill('SIGKILL');
});

test('a server that is killed has lost no entry that was read before, and the next one has another number of log workers', async () => {
  const SHEAF_DATA_DIR = tempDirectory();
  const ids: string[] = [];
  for (const writers of ['1', '4', '2', '3']) {
    const run = spawnServe({ SHEAF_DATA_DIR, SHEAF_QUERY_LOG__WRITERS: writers, SHEAF_SERVER__THREADS: '2' });
    const url = await untilReady(run);
    const json = async (path: string, init?: RequestInit): Promise<Record<string, any>> =>
      (await fetch(`${url}${path}`, init)).json() as Promise<Record<string, any>>;
    const headers = { 'content-type': 'application/json' };
    await json(`${docs}/documents`, { method: 'POST', headers, body: '{"docid":"A","text":"killed"}' });
    const search = async (): Promise<string> => (await json(`${docs}/search?q=killed`)).query_id as string;
    for (let i = 0; i < 10; i++) ids.push(...(await Promise.all(Array.from({ length: 10 }, search))));
    const listed: string[] = [];
    for (let offset = 0; offset < ids.length; offset += 500)
      for (const { query_id: id } of (await json(`${docs}/queries?limit=500&offset=${offset}`)).queries)
        listed.push(id as string);
    assert.deepEqual(listed, [...ids].sort().reverse(), `with ${writers} log workers`);
    // What is not read may be lost; here it is on its way when the process dies.
    for (let i = 0; i < 10; i++) void search().catch(() => undefined);
    run.child.kill('SIGKILL');
    await run.ended;
    const lost = new Set(ids);
    const next = spawnServe({ SHEAF_DATA_DIR, SHEAF_QUERY_LOG__WRITERS: writers, SHEAF_SERVER__THREADS: '0' });
    const again = await untilReady(next);
    const { queries } = (await (await fetch(`${again}${docs}/queries?limit=500`)).json()) as {
      queries: { query_id: string }[];
    };
    for (const { query_id: id } of queries) if (!lost.delete(id)) ids.push(id);
    assert.equal(lost.size, 0);
    next.child.kill('SIGKILL');
    await next.ended;
  }
});

test('a log that cannot be opened is told to who reads it; searches, writes and the end of the server do without', async () => {
  const dataDir = join(tempDirectory(), 'data');
  const whole = await startTestServer({ SHEAF_DATA_DIR: dataDir });
  assert.equal((await whole.call('POST', `${docs}/documents`, { docid: 'A', text: 'a text' })).status, 201);
  await whole.call('GET', `${docs}/search?q=text`);
  await whole.stop();
  const path = join(dataDir, 'query-log', 'data.mdb');
  const bytes = readFileSync(path);
  writeFileSync(path, Buffer.alloc(bytes.length, 1));
  const other = await startTestServer({ SHEAF_DATA_DIR: dataDir });
  assert.ok((await other.call('GET', `${docs}/queries`)).status >= 500);
  assert.ok((await other.call('GET', `${docs}/archive`)).status >= 500);
  assert.equal((await other.call('GET', `${docs}/search?q=text`)).json.matches.length, 1);
  assert.equal((await other.call('POST', `${docs}/documents`, { docid: 'B', text: 'another' })).status, 201);
  await other.stop();
});
