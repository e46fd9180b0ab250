// Writes to a collection and to its shadow collection, on a real store and a real kernel: one transaction for both, and
// a copy of the earlier documents that never overwrites anything newer.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../../src/base/prng.js';
import type { CollectionId, DocId } from '../../../../src/api/ids.js';
import type { DualWrite, DocumentWrite } from '../../../../src/engine/write/commands.js';
import type { CollectionRef } from '../../../../src/api/collections.js';
import { packDocument, unpackDocuments } from '../../../../src/text/prepared-document.js';
import { ShardStore } from '../../../../src/storage/shard-store.js';
import { copyShadow, listMissing } from '../../../../src/engine/write/shadow-collection.js';
import { type Shard } from '../../../../src/engine/shard.js';
import { applyWrites } from '../../../../src/engine/write/write.js';
import { tempDirectory } from '../../../kit/temp.js';
import { createKernel, SEEDS, shardOn } from '../../../kit/engine/arena.js';

const refOf = (id: number, dim: number): CollectionRef => ({
  id: id as CollectionId,
  generation: 1,
  dim,
  language: 'none',
  precision: 'int16',
});
const [LIVE, SHADOW, SAME] = [refOf(1, 2), refOf(2, 3), refOf(3, 2)];

function openShard(): Shard {
  const shard = shardOn(ShardStore.open(tempDirectory(), false), [createKernel()]);
  return shard;
}

interface Wanted {
  text: string;
  chunks?: number;
  atMs?: number;
}

const rows = (count: number, dim: number): Float32Array => new Float32Array(count * dim).fill(1);

function documentOf(docid: string, { text, chunks = 1, atMs = 1 }: Wanted): Uint8Array {
  return packDocument({
    docid: docid as DocId,
    ingestedAtMs: atMs,
    metadataJson: '{}',
    priority: 0,
    chunks: Array.from({ length: chunks }, (_, i) => ({ path: `chunk_${i}`, metaJson: '{}', text: `${text} ${i}` })),
  });
}

const put = (docid: string, wanted: Wanted, dualWrites?: DualWrite[]): DocumentWrite => ({
  op: 'put',
  collection: LIVE,
  document: documentOf(docid, wanted),
  vectors: rows(wanted.chunks ?? 1, LIVE.dim),
  dualWrites,
});
const inShadow = ({ chunks = 1 }: Wanted): DualWrite => ({ collection: SHADOW, vectors: rows(chunks, SHADOW.dim) });
const staged = (docid: string, version: number, wanted: Wanted, source?: CollectionId): DocumentWrite => ({
  op: 'putShadow',
  collection: SHADOW,
  source,
  document: documentOf(docid, wanted),
  version,
  vectors: rows(wanted.chunks ?? 1, SHADOW.dim),
});

/** The documents of a collection as `id version: texts`. */
function contents(shard: Shard, ref: CollectionRef): string[] {
  return shard.store.read((txn) =>
    Array.from(txn.documents(ref.id), ({ docid, version }) => {
      const { ordinals } = txn.members(ref.id, docid);
      for (const ordinal of ordinals) assert.ok(txn.vector(ref, ordinal as never));
      return `${docid} ${version}: ${ordinals.map((ordinal) => txn.text(ref.id, ordinal as never)?.toString())}`;
    }),
  );
}

test('a dual write goes to the collection and its shadow collection, with one version', () => {
  const shard = openShard();
  applyWrites(shard, [
    put('a', { text: 'x' }),
    put('a', { text: 'y', chunks: 2 }, [inShadow({ text: 'y', chunks: 2 })]),
    put('b', { text: 'z' }, [{ collection: SAME, vectors: 'same' }]),
  ]);
  assert.deepEqual(contents(shard, LIVE), ['a 2: y 0,y 1', 'b 1: z 0']);
  assert.deepEqual(contents(shard, SHADOW), ['a 2: y 0,y 1']);
  assert.deepEqual(contents(shard, SAME), ['b 1: z 0']);
  applyWrites(shard, [{ op: 'deleteDocument', collection: LIVE, docid: 'a' as DocId, dualWrites: [SHADOW, SAME] }]);
  assert.deepEqual([contents(shard, LIVE), contents(shard, SHADOW)], [['b 1: z 0'], []]);
});

test('a dual write without vectors removes the document from the shadow collection, to be copied later', () => {
  const shard = openShard();
  applyWrites(shard, [
    put('a', { text: 'x' }, [inShadow({ text: 'x' })]),
    put('a', { text: 'y' }, [{ collection: SHADOW, vectors: null }]),
  ]);
  assert.deepEqual(contents(shard, SHADOW), []);
  const { versions, documents, ends, after } = listMissing(shard, {
    op: 'listMissing',
    collection: LIVE.id,
    shadow: SHADOW.id,
    after: undefined,
  });
  assert.deepEqual(
    [versions, unpackDocuments(documents, ends).map(({ chunks }) => chunks[0]?.text), after],
    [[2], ['y 0'], null],
  );
});

test('a copy is stored only where the source still has its version and the shadow collection has none that is newer', () => {
  const shard = openShard();
  applyWrites(shard, [put('a', { text: 'x' }), put('b', { text: 'x' }), put('c', { text: 'x' })]);
  applyWrites(shard, [
    put('b', { text: 'y' }, [inShadow({ text: 'y' })]),
    { op: 'deleteDocument', collection: LIVE, docid: 'c' as DocId, dualWrites: [SHADOW] },
  ]);
  const results = applyWrites(
    shard,
    ['a', 'b', 'c', 'a'].map((docid) => staged(docid, 1, { text: 'x' }, LIVE.id)),
  );
  assert.deepEqual(results, [
    { value: { chunks: 1 } },
    { value: { chunks: 0 } },
    { value: { chunks: 0 } },
    { value: { chunks: 0 } },
  ]);
  assert.deepEqual(contents(shard, SHADOW), ['a 1: x 0', 'b 2: y 0']);
});

test('an old copy does not overwrite a document that was deleted and put again as version 1', () => {
  const shard = openShard();
  applyWrites(shard, [
    put('a', { text: 'old' }),
    { op: 'deleteDocument', collection: LIVE, docid: 'a' as DocId, dualWrites: [SHADOW] },
    put('a', { text: 'new' }, [inShadow({ text: 'new' })]),
  ]);
  applyWrites(shard, [staged('a', 1, { text: 'old' }, LIVE.id)]);
  assert.deepEqual(contents(shard, SHADOW), ['a 1: new 0']);
});

test('restored documents keep their versions, and repeating a batch changes nothing', () => {
  const shard = openShard();
  for (let time = 0; time < 2; time++)
    applyWrites(shard, [staged('a', 7, { text: 'x' }), staged('b', 3, { text: 'y' })]);
  assert.deepEqual(contents(shard, SHADOW), ['a 7: x 0', 'b 3: y 0']);
});

test('a shadow collection that was dropped does not hinder a write', () => {
  const shard = openShard();
  shard.drop(SHADOW.id);
  assert.deepEqual(applyWrites(shard, [put('a', { text: 'x' }, [inShadow({ text: 'x' })])]), [
    { value: { chunks: 1, version: 1 } },
  ]);
});

/** Copies everything in pages; `between` runs after each page. */
function copyAll(shard: Shard, between: () => void): void {
  for (let after: string | null | undefined; after !== null; between())
    ({ after } = copyShadow(shard, { op: 'copyShadow', collection: SAME, source: LIVE, after }));
}

for (const seed of SEEDS) {
  test(`a copy with writes between its pages ends equal to its source, seed ${seed}`, () => {
    const shard = openShard();
    const prng = createPrng(seed);
    const write = (dualWrites: DualWrite[]): DocumentWrite => {
      const docid = `d${prng.int(300)}`;
      if (prng.int(4) === 0)
        return {
          op: 'deleteDocument',
          collection: LIVE,
          docid: docid as DocId,
          dualWrites: dualWrites.map(({ collection }) => collection),
        };
      return put(docid, { text: `t${prng.int(1000)}`, chunks: 1 + prng.int(3), atMs: prng.int(2) }, dualWrites);
    };
    for (let i = 0; i < 400; i++) applyWrites(shard, [write([])]);
    const shadow = (): DualWrite => ({ collection: SAME, vectors: prng.int(5) === 0 ? null : 'same' });
    copyAll(
      shard,
      () =>
        void applyWrites(
          shard,
          Array.from({ length: 20 }, () => write([shadow()])),
        ),
    );
    copyAll(shard, () => undefined);
    assert.deepEqual(contents(shard, SAME), contents(shard, LIVE));
  });
}
