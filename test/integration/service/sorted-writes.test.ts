// Searches by filters alone, sorted by a field, while documents get other values of it and are replaced: each answer has
// every document once. A document that is written during a search is in one of its two places.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { startTestServer } from '../../kit/server.js';

const DOCUMENTS = 950;
const ROUNDS = 30;
const PATH = '/v1/collections/acme/docs';

const prng = createPrng(20_261_126);
const server = await startTestServer({ SHEAF_SERVER__THREADS: '2' });
const { call } = server;

const number = (): number => prng.int(1000);
const document = (i: number): object => ({
  docid: `D${i}`,
  vector: [1, i % 7, i % 11, i % 13],
  metadata: { n: i % 5 === 0 ? [number(), number()] : number() },
});

await call('POST', PATH, { embedder_type: 'identity', embedder_config: { dim: 4 } });
const { json: made } = await call('POST', `${PATH}/documents:batch`, {
  documents: Array.from({ length: DOCUMENTS }, (_, i) => document(i)),
});
assert.equal(made.succeeded, DOCUMENTS, JSON.stringify(made).slice(0, 400));

test('a sorted search misses nothing while values change and documents are replaced', async () => {
  let isWriting = true;
  let writes = 0;
  const writer = async (): Promise<void> => {
    while (isWriting) {
      const i = prng.int(DOCUMENTS);
      const { status, json } =
        prng.next() < 0.6
          ? await call('PATCH', `${PATH}/documents/D${i}`, { metadata: { n: number() } })
          : await call('POST', `${PATH}/documents`, document(i));
      assert.ok(status < 300, JSON.stringify(json));
      writes++;
    }
  };
  const writers = Array.from({ length: 6 }, writer);
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const sort = { field: 'n', order: round % 2 === 0 ? 'asc' : 'desc' };
      const { status, json } = await call('POST', `${PATH}/search`, { sort, k: DOCUMENTS + 10 });
      assert.equal(status, 200, JSON.stringify(json));
      const found = (json.matches as { id: string }[]).map(({ id }) => id);
      assert.equal(new Set(found).size, found.length, 'a chunk is there twice');
      assert.equal(found.length, DOCUMENTS, `round ${round}: ${DOCUMENTS - found.length} are missing`);
    }
  } finally {
    isWriting = false;
    await Promise.all(writers);
  }
  assert.ok(writes > ROUNDS);
  assert.deepEqual(server.faults, []);
});
