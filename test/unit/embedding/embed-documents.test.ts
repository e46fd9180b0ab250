// Embeds the chunks of prepared documents with a fake embedder: which chunks are embedded, where their vectors go,
// which are marked as truncated, and which document a failure belongs to.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EmbedDocuments } from '../../../src/embedding/messages.js';
import { AppError } from '../../../src/api/errors.js';
import type { DocId } from '../../../src/api/ids.js';
import { packDocument, unpackDocuments, type PreparedDocument } from '../../../src/text/prepared-document.js';
import { embedDocuments } from '../../../workers/embed/commands.js';
import type { Embedder } from '../../../src/embedding/embedder.js';

const LONG = 10;

/**
 * A fake embedder. A vector is [length of the text, code of its first character]; texts that begin with "bad" fail; it
 * reads ten characters of a text.
 */
function runner(): Embedder & { asked: string[][] } {
  const asked: string[][] = [];
  return {
    asked,
    dim: 2,
    isTruncated: (text) => text.length > LONG,
    async embed(texts, purpose) {
      assert.equal(purpose, 'passage');
      asked.push([...texts]);
      const failures = new Map(
        texts.flatMap((text, i) =>
          text.startsWith('bad') ? [[i, new AppError('embedder_unavailable', `no vector for ${text}`)] as const] : [],
        ),
      );
      return { vectors: Float32Array.from(texts.flatMap((text) => [text.length, text.codePointAt(0) ?? 0])), failures };
    },
  };
}

function request(documents: (string | undefined)[][], rest: Partial<EmbedDocuments> = {}): EmbedDocuments {
  const packed = documents.map((texts, d) => {
    const chunks = texts.map((text, i) => ({
      path: `chunk_${i}`,
      metaJson: `{"offset":${i}}`,
      ...(text !== undefined && { text }),
    }));
    return packDocument({ docid: `D${d}` as DocId, ingestedAtMs: 7, metadataJson: '{"a":"b"}', priority: 0.5, chunks });
  });
  let end = 0;
  const ends = packed.map(({ length }) => (end += length));
  return {
    kind: 'documents',
    embedder: 'e',
    cancelled: new Int32Array(new SharedArrayBuffer(4)),
    documents: Buffer.concat(packed),
    ends,
    ...rest,
  };
}

const metasOf = (documents: readonly PreparedDocument[]): unknown[] =>
  documents.map(({ chunks }) => chunks.map(({ metaJson }) => JSON.parse(metaJson) as unknown));

test('each chunk with a text has a row, in order, in one run', async () => {
  const embedder = runner();
  const { documents, ends, vectors, failures } = await embedDocuments(embedder, request([['a', 'bb'], ['ccc']]));
  assert.deepEqual([embedder.asked, [...vectors], failures], [[['a', 'bb', 'ccc']], [1, 97, 2, 98, 3, 99], undefined]);
  assert.deepEqual(
    unpackDocuments(documents, ends).map(({ docid, chunks }) => [docid, chunks.length]),
    [
      ['D0', 2],
      ['D1', 1],
    ],
  );
});

test('rows that are given and rows of chunks without a text stay as they are', async () => {
  const embedder = runner();
  const { vectors } = await embedDocuments(
    embedder,
    request(
      [
        ['a', 'bb', undefined],
        ['ccc', 'dddd'],
      ],
      {
        vectors: Float32Array.of(5, 5, 0, 0, 6, 6, 7, 7, 0, 0),
        given: Uint8Array.of(1, 0, 0, 1, 0),
      },
    ),
  );
  assert.deepEqual([embedder.asked, [...vectors]], [[['bb', 'dddd']], [5, 5, 2, 98, 6, 6, 7, 7, 4, 100]]);
});

test('with nothing to embed the embedder is not asked, and truncated chunks are marked all the same', async () => {
  const embedder = runner();
  const { documents, ends, vectors } = await embedDocuments(
    embedder,
    request([['a', 'b'.repeat(11)]], { vectors: Float32Array.of(1, 2, 3, 4), given: Uint8Array.of(1, 1) }),
  );
  assert.deepEqual([embedder.asked, [...vectors]], [[], [1, 2, 3, 4]]);
  assert.deepEqual(metasOf(unpackDocuments(documents, ends)), [
    [{ offset: 0 }, { offset: 1, embedding_truncated: true }],
  ]);
});

test('truncation that the run itself reports is not determined again', async () => {
  const reporting: Embedder = {
    dim: 2,
    isTruncated: (text) => assert.equal(text, 'given') === undefined,
    embed: async (texts) => ({
      vectors: new Float32Array(texts.length * 2),
      truncated: Uint8Array.from(texts, (text) => Number(text === 'long')),
    }),
  };
  const { documents, ends } = await embedDocuments(
    reporting,
    request([['long', 'given', 'short']], { vectors: new Float32Array(6), given: Uint8Array.of(0, 1, 0) }),
  );
  assert.deepEqual(metasOf(unpackDocuments(documents, ends)), [
    [{ offset: 0, embedding_truncated: true }, { offset: 1, embedding_truncated: true }, { offset: 2 }],
  ]);
});

test('a mark changes the bytes of its document and nothing else of any', async () => {
  const asked = request([['a'], ['b'.repeat(11), 'c'], [undefined, 'd'.repeat(10)]]);
  const before = unpackDocuments(asked.documents, asked.ends);
  const { documents, ends } = await embedDocuments(runner(), asked);
  const after = unpackDocuments(documents, ends);
  assert.deepEqual(metasOf(after), [
    [{ offset: 0 }],
    [{ offset: 0, embedding_truncated: true }, { offset: 1 }],
    [{ offset: 0 }, { offset: 1 }],
  ]);
  const unmarked = after.map((document) => ({
    ...document,
    chunks: document.chunks.map((chunk) => ({
      ...chunk,
      metaJson: chunk.metaJson.replace(',"embedding_truncated":true', ''),
    })),
  }));
  assert.deepEqual(unmarked, before);
  assert.equal(documents.byteLength, ends.at(-1));
});

test('a text that fails makes its document fail, reported once', async () => {
  const { vectors, failures } = await embedDocuments(
    runner(),
    request([['a'], ['b', 'bad 1', 'bad 2'], ['c'], ['bad 3']]),
  );
  assert.deepEqual(failures, [
    { document: 1, error: { code: 'embedder_unavailable', message: 'no vector for bad 1' } },
    { document: 3, error: { code: 'embedder_unavailable', message: 'no vector for bad 3' } },
  ]);
  assert.deepEqual([...vectors.subarray(0, 2), ...vectors.subarray(8, 10)], [1, 97, 1, 99]);
});

test('an embedder that can embed nothing rejects it all', async () => {
  const whole: Embedder = runner();
  const broken: Embedder = { ...whole, embed: () => Promise.reject(new AppError('embedder_unavailable')) };
  await assert.rejects(embedDocuments(broken, request([['a']])), { code: 'embedder_unavailable' });
});

test('the embedder sees that its request was cancelled', async () => {
  const asked = request([['a', 'b']]);
  const seen: boolean[] = [];
  const whole: Embedder = runner();
  const watching: Embedder = {
    ...whole,
    async embed(texts, _, isCancelled) {
      seen.push(isCancelled());
      Atomics.store(asked.cancelled, 0, 1);
      seen.push(isCancelled());
      return { vectors: new Float32Array(texts.length * 2) };
    },
  };
  await embedDocuments(watching, asked);
  assert.deepEqual(seen, [false, true]);
});
