// Documents and chunks that front threads read themselves: what was acknowledged on any connection is what every other
// connection reads, also while owners die, collections go and damage is found.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPrng } from '../../../src/base/prng.js';
import { type Connection, type FrontAnswer, connections, frontPoolOf } from '../../kit/fronts.js';
import { entriesOf, environmentFile, flipValue } from '../../kit/flip.js';
import { ready, startTestServer, type TestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';

const SEED = 2421;
const FRONTS = 3;
const settings = { SHEAF_SERVER__THREADS: String(FRONTS) };
const server = await startTestServer(settings);
const all = await connections(server, 2 * FRONTS);
const prng = createPrng(SEED);
const docs = '/v1/collections/acme/docs';
const any = (): Connection => all[prng.int(all.length)] as Connection;
const everywhere = (path: string): Promise<FrontAnswer[]> =>
  Promise.all(all.map((connection) => connection.call('GET', path)));

/** Counts the reads of documents that owners have been asked for. */
function readsOfOwners({ parts: { shards } }: TestServer): { count: number } {
  const reads = { count: 0 };
  const request = shards.request.bind(shards);
  shards.request = ((...[shard, op, ...rest]: Parameters<typeof request>) => {
    if (op.startsWith('get') || op.startsWith('list')) reads.count++;
    return request(shard, op, ...rest);
  }) as typeof request;
  return reads;
}

const ROUNDS = 150;

test('what was put or deleted on one connection is read so on every other', async () => {
  const stored = new Map<string, { version: number; text: string }>();
  const over = new AbortController();
  const busy = (async () => {
    // Other commits, so that snapshots are renewed amid them.
    for (let i = 0; !over.signal.aborted; i++)
      await any().call('POST', '/v1/collections/acme/busy/documents', { docid: `b${i % 20}`, text: `busy ${i}` });
  })();
  const reads = readsOfOwners(server);
  for (let round = 0; round < ROUNDS; round++) {
    const docid = `d${prng.int(12)}`;
    const message = `seed ${SEED}, round ${round}, ${docid}`;
    const before = stored.get(docid);
    if (before && prng.int(3) === 0) {
      const { status } = await any().call('DELETE', `${docs}/documents/${docid}`);
      assert.equal(status, 200, message);
      stored.delete(docid);
    } else {
      const text = `the text of round ${round}`;
      const { status } = await any().call('POST', `${docs}/documents`, { docid, text, metadata: { round } });
      assert.equal(status, 201, message);
      stored.set(docid, { version: (before?.version ?? 0) + 1, text });
    }
    const expected = stored.get(docid);
    for (const { status, json } of await everywhere(`${docs}/documents/${docid}`))
      assert.deepEqual([status, json.version], expected ? [200, expected.version] : [404, undefined], message);
    for (const { status, json } of await everywhere(`${docs}/chunks/${docid}::chunk_0`))
      assert.deepEqual([status, json.meta?.round], expected ? [200, round] : [404, undefined], message);
    for (const { status, text } of await everywhere(`${docs}/chunks/${docid}::chunk_0/content`))
      assert.deepEqual([status, status === 200 ? text : ''], expected ? [200, expected.text] : [404, ''], message);
    for (const { json } of await everywhere(`${docs}/documents`))
      assert.deepEqual(
        json.documents.map((document: { docid: string }) => document.docid),
        [...stored.keys()].sort(),
        message,
      );
    for (const { json } of await everywhere(`${docs}/documents/${docid}/chunks`))
      assert.equal(json.count, expected ? 1 : 0, message);
  }
  over.abort();
  await busy;
  assert.equal(reads.count, 0, 'front threads ask no owner');
});

test('a document of many chunks is read by its owner, and lists of its chunks have pages', async () => {
  const CHUNKS = 3000;
  const rows = Array.from({ length: CHUNKS }, (_, row) => `row ${row}`).join('\n');
  const form = new FormData();
  form.set('docid', 'rows');
  form.set('file', new Blob([`text\n${rows}\n`]), 'rows.csv');
  const { status, json } = await server.call('POST', `${docs}/documents?csv_has_header=yes`, form);
  assert.deepEqual([status, json.chunks], [201, CHUNKS]);
  const reads = readsOfOwners(server);
  for (const answer of await everywhere(`${docs}/documents/rows`)) assert.equal(answer.json.chunk_ids.length, CHUNKS);
  assert.equal(reads.count, all.length);
  for (const answer of await everywhere(`${docs}/documents/rows/chunks?limit=2500`)) {
    assert.equal(answer.json.count, 2500);
    const rest = await any().call('GET', `${docs}/documents/rows/chunks?cursor=${answer.json.next_cursor}`);
    assert.equal(rest.json.count, CHUNKS - 2500);
  }
});

test('a collection that is deleted, renamed or made again is read so from the answer on', async () => {
  for (let round = 0; round < 40; round++) {
    const [name, other] = [`c${round}`, `r${round}`];
    const at = `/v1/collections/acme/${name}`;
    await any().call('POST', `${at}/documents`, { docid: 'a', text: `first ${round}` });
    if (round % 2 === 0) await any().call('DELETE', at);
    else await any().call('POST', `${at}/move`, { new_name: other });
    for (const { status } of await everywhere(`${at}/documents/a`)) assert.equal(status, 404, `round ${round}`);
    const moved = round % 2 === 0 ? 404 : 200;
    for (const { status } of await everywhere(`/v1/collections/acme/${other}/documents/a`)) assert.equal(status, moved);
    const names = (await everywhere('/v1/collections/acme')).map(({ json }) =>
      json.collections.some((one: { name: string }) => one.name === name),
    );
    assert.deepEqual([...new Set(names)], [false]);
    await any().call('POST', `${at}/documents`, { docid: 'a', text: `second ${round}` });
    for (const { text } of await everywhere(`${at}/chunks/a::chunk_0/content`)) assert.equal(text, `second ${round}`);
  }
});

test('while owners die, reads find what was acknowledged or are refused', async () => {
  const versions = new Map<string, number>();
  const wrong: string[] = [];
  const counts = { read: 0, refused: 0 };
  let isOver = false;
  const writing = Array.from({ length: 3 }, async (_, writer) => {
    for (let i = 0; !isOver; i++) {
      const docid = `k${writer}-${i % 5}`;
      const { status, json } = await any().call('POST', `${docs}/documents`, { docid, text: `kept ${i}` });
      if (status === 201) {
        const own = await any().call('GET', `${docs}/documents/${docid}`);
        if (own.status === 200) versions.set(docid, own.json.version);
        else if (own.status !== 503) wrong.push(`${docid}: ${own.status} after its put`);
      } else if (status !== 503) wrong.push(`put: ${status} ${JSON.stringify(json)}`);
    }
  });
  const reading = all.map(async (connection) => {
    while (!isOver) {
      const [docid, version] = [...versions][prng.int(Math.max(1, versions.size))] ?? [];
      if (docid === undefined || version === undefined) {
        await sleep(1);
        continue;
      }
      const { status, json } = await connection.call('GET', `${docs}/documents/${docid}`);
      if (status === 200 && json.version >= version) counts.read++;
      else if (status === 503) counts.refused++;
      else wrong.push(`${docid}: ${status}, version ${json.version} after ${version}`);
    }
  });
  for (let kill = 0; kill < 12; kill++) {
    await server.parts.shards.kill(prng.int(server.parts.shards.size));
    await ready(server);
  }
  isOver = true;
  await Promise.all([...writing, ...reading]);
  assert.deepEqual(wrong, [], `seed ${SEED}`);
  assert.ok(counts.read > 100, JSON.stringify(counts));
});

test('damage that a front thread meets ends no thread, and is refused on every connection', async () => {
  const place = { SHEAF_STORAGE__PARTITIONS: '1', SHEAF_DATA_DIR: join(tempDirectory(), 'data') };
  const whole = await startTestServer(place);
  for (const docid of ['a', 'b', 'c'])
    await whole.call('POST', `${docs}/documents`, { docid, text: `the captain ${docid}` });
  await whole.call('POST', '/v1/collections/acme/other/documents', { docid: 'a', text: 'another text' });
  await whole.stop();
  const path = environmentFile(place.SHEAF_DATA_DIR, 'shard-0');
  // The text of b, of the collection that was made first.
  const texts = entriesOf(path).filter(({ table, key }) => table === 'texts' && key.readUInt32BE() === 1);
  flipValue(path, texts[1] as (typeof texts)[number]);
  const hurt = await startTestServer({ ...settings, ...place });
  const ways = await connections(hurt, 2 * FRONTS);
  const threads = [...frontPoolOf(hurt).threads];
  const reads = (of: string): Promise<FrontAnswer[]> => Promise.all(ways.map((way) => way.call('GET', of)));
  for (const { status } of await reads(`${docs}/documents/a`)) assert.equal(status, 200);
  for (const { status, json } of await reads(`${docs}/chunks/b::chunk_0/content`))
    assert.deepEqual([status, json.code], [503, 'collection_damaged']);
  for (const { json } of await reads(`${docs}/documents/a`)) assert.equal(json.code, 'collection_damaged');
  for (const { status } of await reads('/v1/collections/acme/other/documents/a')) assert.equal(status, 200);
  assert.deepEqual(frontPoolOf(hurt).threads, threads);
});
