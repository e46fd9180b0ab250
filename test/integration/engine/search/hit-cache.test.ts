// A cached chunk payload is used for the same row version of a chunk only. Tests the cache by itself, and behind a
// server whose documents are replaced, removed and written again, compared with what was written last; with and without
// the cache.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../../src/base/prng.js';
import type { CollectionId, Ordinal } from '../../../../src/api/ids.js';
import { type ChunkPayload, HitCache, type RowVersion } from '../../../../src/engine/search/payload-cache.js';
import { startTestServer, type TestServer } from '../../../kit/server.js';
import { tempDirectory } from '../../../kit/temp.js';

const chunk = (id: string): ChunkPayload => ({
  id,
  idJson: `"${id}"`,
  textJson: '"text"',
  metaJson: '{}',
  layers: ['{}', '{}'],
});
const version = (rowVersion: number, ordinal = 1, collection = 1, memory = 0): RowVersion => ({
  memory,
  rowVersion,
  ordinal: ordinal as Ordinal,
  collection: collection as CollectionId,
});

test('a cached chunk is returned only for its memory, collection, ordinal and row version', () => {
  const cache = new HitCache(1_000_000);
  const told = chunk('a');
  cache.keep(version(7), told);
  assert.equal(cache.get(version(7)), told);
  for (const other of [version(9), version(7, 2), version(7, 1, 2), version(7, 1, 1, 1)])
    assert.equal(cache.get(other), undefined);
});

test('the cache keeps at most its bytes, and nothing if they are 0', () => {
  const [some, none] = [new HitCache(10_000), new HitCache(0)];
  const rowVersions = Array.from({ length: 1000 }, (_, i) => 2 * i + 1);
  for (const cache of [some, none])
    rowVersions.forEach((rowVersion) => cache.keep(version(rowVersion), chunk(`d${rowVersion}`)));
  const kept = rowVersions.filter((rowVersion) => some.get(version(rowVersion)));
  assert.ok(kept.length > 5 && kept.length < 25, `${kept.length}`);
  assert.deepEqual(kept, rowVersions.slice(-kept.length), 'the latest');
  assert.ok(rowVersions.every((rowVersion) => none.get(version(rowVersion)) === undefined));
});

test('the cache is emptied before a row version can repeat', () => {
  const cache = new HitCache(1_000_000);
  const start = 0xffff_fff1;
  cache.reach(0, start);
  cache.keep(version(start), chunk('a'));
  cache.reach(0, (start + 1000) >>> 0);
  assert.ok(cache.get(version(start)), 'row versions that come round are no reason');
  cache.reach(0, (start + 2 ** 31) >>> 0);
  assert.equal(cache.get(version(start)), undefined);
});

const AT = '/v1/collections/acme/notes';
const ROUNDS = 40;

interface Document {
  text: string;
  metadata: { round: number; prio_boost: number };
}

async function check(
  server: TestServer,
  documents: Map<string, Document>,
  prng: ReturnType<typeof createPrng>,
): Promise<void> {
  const mode = ['vector', 'boost', 'hybrid'][prng.int(3)];
  const reporting = prng.int(3) === 0 ? { highlight: true, explain: true } : {};
  const { status, json } = await server.call('POST', `${AT}/search`, { q: 'whale number', k: 50, mode, ...reporting });
  assert.equal(status, 200);
  const found = (json.matches as { id: string; text: string; meta: Record<string, unknown> }[]).map(
    ({ id, text, meta }) => [id.split('::')[0], text, meta.round, meta.prio_boost],
  );
  const expected = [...documents].map(([docid, { text, metadata }]) => [
    docid,
    text,
    metadata.round,
    metadata.prio_boost,
  ]);
  assert.deepEqual(found.sort(), expected.sort());
}

for (const megabytes of [0, 1]) {
  test(`hits have what was written last, with a cache of ${megabytes} MB`, async () => {
    const env = { SHEAF_DATA_DIR: tempDirectory() };
    const tuning = { hitCacheBytes: megabytes * 2 ** 20 };
    let server = await startTestServer(env, tuning);
    const prng = createPrng(5);
    const documents = new Map<string, Document>();
    for (let round = 0; round < ROUNDS; round++) {
      const docid = `D${prng.int(8)}`;
      if (prng.int(4) === 0) {
        await server.call('DELETE', `${AT}/documents/${docid}`);
        documents.delete(docid);
      } else {
        const document = {
          text: `whale number ${round} of "${docid}" \u{1f40b}`,
          metadata: { round, prio_boost: prng.int(2) / 4 },
        };
        assert.equal((await server.call('POST', `${AT}/documents`, { docid, ...document })).status, 201);
        documents.set(docid, document);
      }
      for (let again = 0; again < 2; again++) await check(server, documents, prng);
      if (round === ROUNDS / 2) {
        await server.stop();
        server = await startTestServer(env, tuning);
      }
    }
  });
}
