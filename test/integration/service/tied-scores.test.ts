// Hundreds of chunks with equal scores are ordered by document id, by its UTF-8 bytes, and then by their order in the
// document: in every mode, over any number of shards, with and without the caches of threads, while documents are
// added, removed and added again.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { startTestServer } from '../../kit/server.js';

const PATH = '/v1/collections/acme/ties';
const SEED = 20_261_122;
const ROUNDS = 6;
/** All chunks of a class are alike; those of the first class are nearer to the query. */
const TEXTS = ['wind and waves', 'waves and more'] as const;
const CHUNK = 16;

interface Document {
  about: number;
  chunks: number;
}

const prng = createPrng(SEED);
const docidOf = (n: number): string =>
  `${['a', 'B', 'z/long/prefix/of/many', '\u00e9', '\uffee', '\u{1f600}'][n % 6]}${(n * 7919) % 1000}`;
const textOf = ({ about, chunks }: Document): string => (TEXTS[about] as string).padEnd(CHUNK, ' .').repeat(chunks);

/** The first k chunks, each as its document and its position in the document. */
function naive(documents: ReadonlyMap<string, Document>, k: number): [string, number][] {
  const ids = [...documents.keys()].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const all = TEXTS.flatMap((_, about) => ids.filter((id) => documents.get(id)?.about === about)).flatMap((id) =>
    Array.from({ length: (documents.get(id) as Document).chunks }, (_, i): [string, number] => [id, i]),
  );
  return all.slice(0, k);
}

for (const [partitions, megabytes] of [
  ['1', 32],
  ['3', 1],
  ['3', 0],
] as const) {
  test(`${partitions} shards, ${megabytes} MB to remember by`, async () => {
    const { call, faults } = await startTestServer(
      { SHEAF_STORAGE__PARTITIONS: partitions, SHEAF_THREADS: '2' },
      { hitCacheBytes: megabytes * 2 ** 20 },
    );
    const documents = new Map<string, Document>();
    assert.equal((await call('POST', PATH, { chunking: { strategy: 'fixed', size: CHUNK, overlap: 0 } })).status, 201);
    for (let round = 0; round < ROUNDS; round++) {
      const written = new Map<string, Document>();
      for (let n = 0; n < 80; n++) written.set(docidOf(prng.int(300)), { about: prng.int(2), chunks: 1 + prng.int(3) });
      const items = [...written].map(([docid, document]) => ({ docid, text: textOf(document) }));
      assert.equal((await call('POST', `${PATH}/documents:batch`, { documents: items })).status, 201);
      for (const [docid, document] of written) documents.set(docid, document);
      const removed = [...documents.keys()].filter(() => prng.int(8) === 0);
      const answers = removed.map((docid) => call('DELETE', `${PATH}/documents/${encodeURIComponent(docid)}`));
      for (const { status } of await Promise.all(answers)) assert.equal(status, 200);
      for (const docid of removed) documents.delete(docid);
      for (const mode of ['vector', 'boost', 'hybrid']) {
        const search = (k: number): ReturnType<typeof call> =>
          call('POST', `${PATH}/search`, { q: 'the wind', k, mode, exact: true });
        for (const [k, { status, json }] of await Promise.all(
          [1, 7, 40, 300].map(async (k) => [k, await search(k)] as const),
        )) {
          assert.equal(status, 200);
          const found = (json.matches as { id: string }[]).map(({ id }) => id);
          const at = (i: number): string => `${mode}, k ${k}, hit ${i}, round ${round}, seed ${SEED}`;
          naive(documents, k).forEach(([docid, index], i) =>
            assert.ok(
              found[i]?.startsWith(`${docid}::`) && found[i].endsWith(String(index)),
              `${found[i]} for ${docid} ${index}: ${at(i)}`,
            ),
          );
          assert.equal(found.length, naive(documents, k).length);
        }
      }
    }
    assert.deepEqual(faults, []);
  });
}
