// A shard's records in real LMDB: what a transaction writes is there after reopening, what it aborts is not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CollectionId, DocId, Ordinal } from '../../../src/api/ids.js';
import { DamagedRecord } from '../../../src/storage/damage.js';
import { ShardStore, type StoredDocument } from '../../../src/storage/shard-store.js';
import { tempDirectory } from '../../kit/temp.js';

const ref = (id: number) => ({
  id: id as CollectionId,
  generation: 1,
  dim: 2,
  language: 'none' as const,
  precision: 'int16' as const,
});

function stored(docid: string, ordinals: number[], version = 1): StoredDocument {
  const chunks = ordinals.map((_, i) => ({ path: `chunk_${i}`, metaJson: '{}', text: `${docid} text ${i}` }));
  const record = {
    docid: docid as DocId,
    version,
    ingestedAtMs: 5,
    metadataJson: '{}',
    priority: 0,
    chunkCount: chunks.length,
    expiresAtS: 0,
  };
  return {
    record,
    ordinals: ordinals as Ordinal[],
    chunks,
    vectors: Float32Array.from(ordinals.flatMap((o) => [o, 1])),
  };
}

test('documents with their chunks, texts and vectors come back after reopening', () => {
  const directory = tempDirectory();
  const store = ShardStore.open(directory, false);
  store.write((txn) => txn.putDocument(ref(1), stored('A', [0, 1])));
  store.close();
  const again = ShardStore.open(directory, false);
  again.read((txn) => {
    assert.deepEqual(txn.members(1 as CollectionId, 'A'), { ordinals: [0, 1], paths: ['chunk_0', 'chunk_1'] });
    assert.equal(txn.text(1 as CollectionId, 1 as Ordinal)?.toString(), 'A text 1');
    assert.equal(txn.chunk(1 as CollectionId, 1 as Ordinal).docid, 'A');
    assert.deepEqual(
      [...txn.vectors(ref(1))].map(({ ordinal, vector }) => [ordinal, ...vector]),
      [
        [0, 0, 1],
        [1, 1, 1],
      ],
    );
  });
  again.close();
});

test('a transaction that throws leaves nothing', () => {
  const store = ShardStore.open(tempDirectory(), false);
  const work = (): unknown =>
    store.write((txn) => {
      txn.putDocument(ref(1), stored('A', [0]));
      throw new Error('stop');
    });
  assert.throws(work, /stop/);
  store.read((txn) => assert.equal(txn.document(1 as CollectionId, 'A'), undefined));
  store.write((txn) => txn.putDocument(ref(1), stored('B', [0])));
  store.read((txn) => assert.equal(txn.document(1 as CollectionId, 'B')?.version, 1));
  store.close();
});

test('removing a collection leaves the next one as it was', () => {
  const store = ShardStore.open(tempDirectory(), false);
  store.write((txn) => {
    for (const id of [1, 2, 300])
      for (const docid of ['A', 'B']) txn.putDocument(ref(id), stored(docid, [docid === 'A' ? 0 : 1]));
  });
  assert.deepEqual(
    store.read((txn) => [...txn.allCounts()].map(({ id }) => id)),
    [1, 2, 300],
  );
  let rounds = 0;
  while (!store.write((txn) => txn.purgeSome(2 as CollectionId, 3))) rounds++;
  assert.equal(rounds, 3);
  store.read((txn) => {
    assert.deepEqual(
      [...txn.allCounts()].map(({ id }) => id),
      [1, 300],
    );
    assert.deepEqual([...txn.vectors(ref(2))], []);
    assert.deepEqual(
      [...txn.documents(300 as CollectionId)].map(({ docid }) => docid),
      ['A', 'B'],
    );
  });
  store.close();
});

test('document ids of 512 bytes with a long common beginning are told apart', () => {
  const store = ShardStore.open(tempDirectory(), false);
  const ids = ['x', 'y', 'xy'].map((end) => `${'é'.repeat(255)}${end}`);
  store.write((txn) => ids.forEach((docid, i) => txn.putDocument(ref(1), stored(docid, [i]))));
  store.read((txn) => ids.forEach((docid, i) => assert.deepEqual(txn.members(1 as CollectionId, docid).ordinals, [i])));
  store.write((txn) => txn.removeDocument(ref(1), ids[0] as DocId));
  store.read((txn) => assert.equal([...txn.documents(1 as CollectionId)].length, 2));
  store.close();
});

test('a vector of another length than the collection is damage', () => {
  const store = ShardStore.open(tempDirectory(), false);
  store.write((txn) => txn.putDocument(ref(1), stored('A', [0])));
  assert.throws(() => store.read((txn) => [...txn.vectors({ ...ref(1), dim: 3 })]), DamagedRecord);
  store.close();
});
