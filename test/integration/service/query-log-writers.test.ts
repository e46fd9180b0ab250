// The query log of several log workers behind the HTTP API, with and without front threads: what is listed, found,
// replayed, archived and counted is what one log would have.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { download, upload } from '../../kit/archives.js';
import { frontPoolOf } from '../../kit/fronts.js';
import { startTestServer, type TestServer } from '../../kit/server.js';
import { until } from '../../kit/until.js';

const SEARCHES = 300;
const docs = '/v1/collections/acme/docs';

/** Searches over many connections, so that all front threads have some. Resolves with the ids by text. */
async function search({ call }: TestServer, path: string, from: number, to: number): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  const one = async (text: string): Promise<void> => {
    const { status, json } = await call('GET', `${path}/search?q=${text}`);
    assert.equal(status, 200);
    ids.set(text, json.query_id);
  };
  for (let i = from; i < to; i += 20)
    await Promise.all(Array.from({ length: Math.min(20, to - i) }, (_, n) => one(`number${i + n}`)));
  return ids;
}

interface Listed {
  query_id: string;
  query_text: string;
}

/** All entries, in pages by cursor. */
async function listed({ call }: TestServer, path: string, limit = 70): Promise<Listed[]> {
  const found: Listed[] = [];
  for (let cursor = ''; ; ) {
    const { status, json } = await call('GET', `${path}/queries?limit=${limit}${cursor && `&cursor=${cursor}`}`);
    assert.equal(status, 200);
    found.push(...json.queries);
    if (json.next_cursor === undefined) return found;
    cursor = json.next_cursor;
  }
}

async function sample({ call }: TestServer, name: string): Promise<number> {
  const { text } = await call('GET', '/metrics', undefined, { accept: 'text/plain' });
  const line = text.split('\n').find((one) => one.startsWith(`${name} `));
  return Number(line?.split(' ').at(-1));
}

for (const fronts of ['0', '2'])
  test(`with ${fronts} front threads, three log workers have each search once`, async () => {
    const server = await startTestServer({ SHEAF_SERVER__THREADS: fronts, SHEAF_QUERY_LOG__WRITERS: '3' });
    const { call } = server;
    await call('POST', `${docs}/documents`, { docid: 'NEMO', text: 'Captain Nemo commands the Nautilus.' });
    const ids = await search(server, docs, 0, SEARCHES);
    assert.equal(new Set(ids.values()).size, SEARCHES);

    const all = await listed(server, docs);
    assert.deepEqual(
      all.map(({ query_id: id }) => id),
      [...ids.values()].sort().reverse(),
    );
    for (const offset of [0, 1, 90, 299, 300]) {
      const { json } = await call('GET', `${docs}/queries?offset=${offset}&limit=20`);
      assert.deepEqual(json.queries, all.slice(offset, offset + 20), `offset ${offset}`);
    }
    const { json: replayed } = await call('POST', `${docs}/queries/${ids.get('number17')}/replay`);
    assert.equal(replayed.original_query_id, ids.get('number17'));
    const { json: entry } = await call('GET', `/v1/admin/queries/${replayed.replay_query_id}`);
    assert.deepEqual([entry.query.query_text, entry.query.replay_of], ['number17', ids.get('number17')]);
    assert.equal(await sample(server, 'sheaf_query_log_appended_total'), SEARCHES + 1);
    assert.equal(await sample(server, 'sheaf_query_log_sampled_out_total'), 0);
    assert.equal(await sample(server, 'sheaf_query_log_waiting_bytes'), 0);

    // Renamed, the collection keeps its log.
    assert.equal((await call('POST', `${docs}/move`, { new_name: 'books' })).status, 200);
    const books = '/v1/collections/acme/books';
    assert.equal((await listed(server, books)).length, SEARCHES + 1);
    assert.equal((await call('GET', `${docs}/queries`)).json.count, 0);

    // Deleted, it has none, nor has a new one of its name; a restored one has what it had.
    const { status, bytes } = await download(server, `${books}/archive`);
    assert.equal(status, 200);
    assert.equal((await call('DELETE', books)).status, 200);
    await until(async () => (await call('GET', `/v1/admin/queries/${ids.get('number3')}`)).status === 404);
    await call('POST', `${books}/documents`, { text: 'another' });
    assert.equal((await call('GET', `${books}/queries`)).json.count, 0);
    const restored = await upload(server, 'POST', '/v1/collections/acme/back/archive', bytes);
    assert.equal(restored.status, 200, restored.text);
    const back = await listed(server, '/v1/collections/acme/back');
    assert.deepEqual(
      back.slice(1).map(({ query_id: id }) => id),
      all.map(({ query_id: id }) => id),
    );
    assert.deepEqual(server.faults, []);
  });

test('log workers that are killed amid the entries of front threads are replaced, and no search is lost', async () => {
  const server = await startTestServer({ SHEAF_SERVER__THREADS: '2', SHEAF_QUERY_LOG__WRITERS: '2' });
  await server.call('POST', `${docs}/documents`, { text: 'Captain Nemo commands the Nautilus.' });
  const ids: string[] = [];
  for (let round = 0; round < 4; round++) {
    const [found] = await Promise.all([
      search(server, docs, 100 * round, 100 * (round + 1)),
      server.parts.queryLog.kill(),
    ]);
    ids.push(...found.values());
  }
  assert.deepEqual(
    (await listed(server, docs)).map(({ query_id: id }) => id),
    ids.sort().reverse(),
  );
  assert.deepEqual(server.parts.queryLog.counts, { stored: 400, sampledOut: 0, full: 0, failed: 0, died: 0 });
  assert.deepEqual(server.faults, []);
});

test('what a front thread has gathered when it dies is counted', async () => {
  const server = await startTestServer({ SHEAF_SERVER__THREADS: '2', SHEAF_QUERY_LOG__WRITERS: '2' });
  await server.call('POST', `${docs}/documents`, { text: 'Captain Nemo commands the Nautilus.' });
  const { queryLog } = server.parts;
  let searched = 0;
  // What has been gathered may have been sent before the thread dies.
  while (queryLog.counts.died === 0 && searched < 2000) {
    await search(server, docs, searched, searched + 20);
    searched += 20;
    await Promise.all([0, 1].map((front) => frontPoolOf(server).kill(front)));
  }
  assert.ok(queryLog.counts.died > 0);
  await until(() => queryLog.counts.stored + queryLog.counts.died >= searched);
  const { stored, died, ...others } = queryLog.counts;
  assert.deepEqual([stored + died, others], [searched, { sampledOut: 0, full: 0, failed: 0 }]);
});

test('each number of log workers reads what another one has written, within the bounds of one log', async () => {
  const SHEAF_QUERY_LOG__MAX_ENTRIES = '150';
  let SHEAF_DATA_DIR = '';
  const expected: string[] = [];
  for (const writers of ['1', '4', '2', '1']) {
    const server = await startTestServer({
      SHEAF_SERVER__THREADS: '2',
      SHEAF_QUERY_LOG__WRITERS: writers,
      SHEAF_QUERY_LOG__MAX_ENTRIES,
      ...(SHEAF_DATA_DIR && { SHEAF_DATA_DIR }),
    });
    SHEAF_DATA_DIR = server.dataDir;
    await server.call('POST', `${docs}/documents`, { text: `with ${writers} writers` });
    const found = await search(server, docs, expected.length, expected.length + 80);
    expected.push(...[...found.values()].sort());
    assert.deepEqual(
      (await listed(server, docs)).map(({ query_id: id }) => id),
      expected.slice(-150).reverse(),
    );
    const gone = await server.call('GET', `${docs}/queries/${expected.at(-151) ?? expected[0]}`);
    assert.equal(gone.status, expected.length > 150 ? 404 : 200);
    await server.stop();
  }
  assert.ok(existsSync(join(SHEAF_DATA_DIR, 'query-log-3')) && !existsSync(join(SHEAF_DATA_DIR, 'query-log-4')));
});
