// `memory` in the detail of a collection over a real socket: what vectors of each precision take, and what searches
// add.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import type { MemoryUse } from '../../../src/api/collections.js';
import { startTestServer } from '../../kit/server.js';

const DIM = 128;
const ROWS = 1000;
/**
 * The tolerance: a quarter of the newest blocks may be empty in each of three shards, and rows are rounded up to cache
 * lines.
 */
const SLACK = 1.6;

const { call } = await startTestServer();
const prng = createPrng(3);
const memoryOf = async (name: string): Promise<MemoryUse> =>
  (await call('GET', `/v1/collections/acme/${name}/detail`)).json.memory;

for (const [precision, bytes] of [
  ['int16', 2],
  ['int8', 1],
] as const) {
  test(`vectors of ${precision} take the bytes of their numbers, and no text index`, async () => {
    await call('POST', `/v1/collections/acme/${precision}`, {
      embedder_type: 'identity',
      embedder_config: { dim: DIM },
      precision,
    });
    assert.deepEqual(await memoryOf(precision), {
      vectors: 0,
      quantized_vectors: 0,
      codes: 0,
      graph: 0,
      postings: 0,
      text: 0,
    });
    const documents = Array.from({ length: ROWS }, (_, i) => ({
      docid: `V${i}`,
      vector: Array.from({ length: DIM }, () => prng.normal()),
    }));
    await call('POST', `/v1/collections/acme/${precision}/documents:batch`, { documents });
    const { vectors, graph, postings, text } = await memoryOf(precision);
    const numbers = ROWS * DIM * bytes;
    assert.ok(
      vectors > numbers && vectors < SLACK * (numbers + 16 * ROWS),
      `${vectors} bytes for ${numbers} of numbers`,
    );
    assert.ok(graph > 0);
    assert.deepEqual([postings, text], [0, 0]);
  });
}

test('text and metadata indexes count from the first search that needs them', async () => {
  const path = '/v1/collections/acme/words';
  await call('POST', `${path}/documents`, { docid: 'A', text: 'whale boat', metadata: { sea: 'north' } });
  const before = await memoryOf('words');
  await call('POST', `${path}/search`, { q: 'whale', mode: 'hybrid' });
  const worded = await memoryOf('words');
  await call('POST', `${path}/search`, { q: 'whale', filters: { sea: 'north' } });
  const filtered = await memoryOf('words');
  assert.ok(
    before.postings < worded.postings && worded.postings < filtered.postings,
    JSON.stringify([before, worded, filtered]),
  );
});
