// The embed workers with real models: the vectors of queries and documents that are embedded at the same time, and a
// model that cannot be loaded.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { cosine } from '../../../load/kit/cosine.js';
import type { EmbedderSpec } from '../../../src/embedding/embedder-spec.js';
import type { DocId } from '../../../src/api/ids.js';
import { packDocument, unpackDocuments } from '../../../src/text/prepared-document.js';
import { readModelFolder, type ModelFolderOptions } from '../../../src/embedding/onnx/model-folder.js';
import { EmbedPool } from '../../../src/pool/embed-pool.js';
import { MINILM, modelWith, randomTexts, unlessThere, WORD_VECTORS } from '../../kit/embedding/onnx-models.js';
import { faultLog } from '../../kit/log.js';

const BUILTIN: EmbedderSpec = { key: 'builtin', type: 'builtin' };
const onnx = (key: string, options: ModelFolderOptions): EmbedderSpec => ({
  key,
  type: 'onnx',
  model: readModelFolder(key, options),
});

function startPool(embedders: EmbedderSpec[]): { pool: EmbedPool; faults: string[] } {
  const { log, faults } = faultLog();
  const pool = new EmbedPool({
    threads: { queries: 1, documents: 2, queryModel: 1, documentModel: 1 },
    embedders,
    rerankers: [],
    log,
    observe: () => {},
  });
  after(() => pool.close());
  return { pool, faults };
}

function documentOf(texts: readonly string[]): { documents: Uint8Array; ends: number[] } {
  const chunks = texts.map((text, i) => ({ path: `chunk_${i}`, metaJson: `{"offset":${i}}`, text }));
  const documents = packDocument({ docid: 'D' as DocId, ingestedAtMs: 0, metadataJson: '{}', priority: 0, chunks });
  return { documents, ends: [documents.length] };
}

test(
  'queries and documents of a model: the same vectors, truncation in the meta of its chunk',
  unlessThere(MINILM),
  async () => {
    const { pool, faults } = startPool([BUILTIN, onnx('minilm', { path: MINILM, maxTokens: 32 })]);
    const texts = ['supersonic flow past a wing', 'heat transfer', 'wing '.repeat(100)];
    const [{ documents, ends, vectors, failures }, ...queries] = await Promise.all([
      pool.embedDocuments('minilm', documentOf(texts)),
      ...texts.map((text) => pool.embedQuery('minilm', { text })),
    ]);
    assert.equal(failures, undefined);
    queries.forEach((query, i) => assert.ok(cosine(query, vectors.subarray(i * 384, (i + 1) * 384)) > 0.99999));
    const [document] = unpackDocuments(documents, ends);
    assert.deepEqual(
      document!.chunks.map(({ metaJson }) => metaJson),
      ['{"offset":0}', '{"offset":1}', '{"offset":2,"embedding_truncated":true}'],
    );
    assert.equal((await pool.embedQuery('builtin', { text: 'wing' })).length, 512);
    assert.deepEqual(faults, []);
  },
);

test('many documents and queries at once: each gets its own vectors', unlessThere(WORD_VECTORS), async () => {
  const { pool } = startPool([onnx('words', { path: WORD_VECTORS })]);
  const asked = Array.from({ length: 40 }, async (_, n) => {
    const texts = randomTexts(n, 1 + (n % 9) * 5, 20);
    const { vectors } = await pool.embedDocuments('words', documentOf(texts), `tenant-${n % 3}`);
    for (const place of [0, texts.length - 1]) {
      const query = await pool.embedQuery('words', { text: texts[place]! });
      query.forEach((value, i) =>
        assert.ok(Math.abs(value - vectors[place * 300 + i]!) < 1e-5, `document ${n}, text ${place}`),
      );
    }
  });
  await Promise.all(asked);
});

test('an ingest that is given up leaves its worker to others', unlessThere(MINILM), async () => {
  const { pool } = startPool([onnx('minilm', { path: MINILM })]);
  const gone = new AbortController();
  // Minutes of work.
  const long = Array.from({ length: 2 }, () =>
    pool.embedDocuments('minilm', documentOf(randomTexts(1, 4000, 400)), 'a', gone.signal),
  );
  const given = Promise.all(long.map((answer) => assert.rejects(answer, /does not wait for an answer any more/)));
  await pool.embedDocuments('minilm', documentOf(['beside them']), 'b');
  gone.abort();
  await given;
});

test(
  'a pool is closed while its models run: what waits is refused, and the process lives',
  unlessThere(MINILM),
  async () => {
    const { pool } = startPool([onnx('minilm', { path: MINILM })]);
    const long = Array.from({ length: 6 }, (_, n) =>
      pool.embedDocuments('minilm', documentOf(randomTexts(n, 1000, 400)), 'a'),
    );
    const refused = Promise.all(long.map((answer) => assert.rejects(answer, { code: 'shutting_down' })));
    await pool.embedDocuments('minilm', documentOf(['beside them']), 'b');
    await pool.close();
    await refused;
  },
);

test(
  'a model that cannot be loaded refuses what it is asked and is told to the log; others go on',
  unlessThere(WORD_VECTORS),
  async () => {
    const path = modelWith(WORD_VECTORS, { 'onnx/model.onnx': 'no graph' });
    const { pool, faults } = startPool([onnx('broken', { path }), BUILTIN]);
    for (let round = 0; round < 3; round++) {
      await assert.rejects(pool.embedQuery('broken', { text: 'wing' }), {
        code: 'embedder_unavailable',
        message: 'The embedder could not be loaded.',
      });
      await assert.rejects(pool.embedDocuments('broken', documentOf(['wing'])), { code: 'embedder_unavailable' });
    }
    assert.equal((await pool.embedQuery('builtin', { text: 'wing' })).length, 512);
    assert.equal((await pool.embedDocuments('builtin', documentOf(['wing']))).vectors.length, 512);
    // One failure for each thread, whenever it has tried to load the model: no thread died and was replaced.
    for (let tries = 0; faults.length < 3 && tries < 6000; tries++) await sleep(10);
    assert.equal(faults.length, 3);
    assert.ok(
      faults.every(
        (fault) => fault.startsWith('an embedder cannot be loaded') && fault.includes('"embedder":"broken"'),
      ),
    );
  },
);
