// The counts of a shard's collections, compared with counting by iteration: after random transactions of which some are
// aborted, after kills of the writing process, and for data that was written before there were counts.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import type { CollectionId, DocId, Ordinal } from '../../../src/api/ids.js';
import type { CollectionRef } from '../../../src/api/collections.js';
import { Environment } from '../../../src/storage/lmdb.js';
import type { CollectionCounts } from '../../../src/storage/counts.js';
import { ShardStore, ShardWriteTxn, type StoredDocument } from '../../../src/storage/shard-store.js';
import { DamagedRecord } from '../../../src/storage/damage.js';
import { SHARD_TABLES } from '../../../src/storage/shard-reader.js';
import { tempDirectory } from '../../kit/temp.js';

/** Ids of collections; some share a record of counts, some do not. */
const IDS = [1, 2, 63, 64, 700];
const KILLS = 8;
const ref = (id: number): CollectionRef => ({
  id: id as CollectionId,
  generation: 1,
  dim: 1,
  language: 'none',
  precision: 'int16',
});

function stored(docid: string, chunkCount: number, firstOrdinal = 0, priority = 0): StoredDocument {
  const chunks = Array.from({ length: chunkCount }, (_, i) => ({ path: `chunk_${i}`, metaJson: '{}' }));
  const ordinals = chunks.map((_, i) => (firstOrdinal + i) as Ordinal);
  const record = {
    docid: docid as DocId,
    version: 1,
    ingestedAtMs: 0,
    metadataJson: '{}',
    priority,
    chunkCount,
    expiresAtS: 0,
  };
  return { record, ordinals, chunks, vectors: new Float32Array(chunkCount).fill(1) };
}

/** The counts of each collection, by iterating over its documents and their chunks. */
function walked(store: ShardStore): (CollectionCounts & { id: number })[] {
  return store.read((txn) =>
    IDS.map((id) => {
      const documents = [...txn.documents(id as CollectionId)];
      const chunks = documents.reduce(
        (sum, { docid }) => sum + txn.members(id as CollectionId, docid).ordinals.length,
        0,
      );
      return {
        id,
        documents: documents.length,
        chunks,
        prioritized: documents.filter(({ priority }) => priority !== 0).length,
      };
    }),
  );
}

function assertCounted(store: ShardStore, hint: string): void {
  const expected = walked(store);
  store.read((txn) => {
    assert.deepEqual(
      IDS.map((id) => ({ id, ...txn.counts(id as CollectionId) })),
      expected,
      hint,
    );
    assert.deepEqual(
      [...txn.allCounts()],
      expected.filter(({ documents }) => documents > 0),
      hint,
    );
  });
}

/** Runs up to six puts, replacements and removals in a transaction. */
function writeSome(txn: ShardWriteTxn, int: (below: number) => number): void {
  for (let left = 1 + int(6); left > 0; left--) {
    const id = IDS[int(IDS.length)] as number;
    const slot = int(9);
    const docid = `D${slot}` as DocId;
    if (txn.document(id as CollectionId, docid)) txn.removeDocument(ref(id), docid);
    if (int(3) > 0) txn.putDocument(ref(id), stored(docid, int(5), slot * 8, int(2)));
  }
}

test('counts are right after random transactions, some of them aborted, and after reopening', () => {
  const seed = 5;
  const prng = createPrng(seed);
  const directory = tempDirectory();
  for (let life = 0; life < 3; life++) {
    const store = ShardStore.open(directory, false);
    for (let round = 0; round < 60; round++) {
      const isAborted = prng.int(4) === 0;
      const work = (txn: ShardWriteTxn): void => {
        writeSome(txn, (below) => prng.int(below));
        if (isAborted) throw new Error('stop');
      };
      if (isAborted) assert.throws(() => store.write(work), /stop/);
      else store.write(work);
      assertCounted(store, `seed ${seed}, round ${round}`);
    }
    store.close();
  }
});

/** A program that writes until it is killed, and prints after each transaction. */
const writer = (directory: string, seed: number): string => `
  const { ShardStore } = await import(${JSON.stringify(new URL('../../../src/storage/shard-store.js', import.meta.url).href)});
  const { createPrng } = await import(${JSON.stringify(new URL('../../../src/base/prng.js', import.meta.url).href)});
  const IDS = ${JSON.stringify(IDS)};
  const ref = ${ref.toString()};
  const stored = ${stored.toString()};
  const writeSome = ${writeSome.toString()};
  const store = ShardStore.open(${JSON.stringify(directory)}, false);
  const prng = createPrng(${seed});
  for (;;) {
    store.write((txn) => writeSome(txn, (below) => prng.int(below)));
    process.stdout.write('.');
  }
`;

test('counts are right after every kill of the writing process', async () => {
  const directory = tempDirectory();
  let written = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    const child = spawn(process.execPath, ['--input-type=module', '--eval', writer(directory, kill)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(child, 'close');
    child.stdout.resume();
    await once(child.stdout, 'data');
    await new Promise((resolve) => setTimeout(resolve, 5 + 9 * kill));
    child.kill('SIGKILL');
    await ended;
    const store = ShardStore.open(directory, false);
    assertCounted(store, `kill ${kill}`);
    written = walked(store).reduce((sum, { documents }) => sum + documents, 0);
    store.close();
  }
  assert.ok(written > 0);
});

test('documents from before there were counts are counted when the store is opened', () => {
  const directory = tempDirectory();
  const old = Environment.open(directory, SHARD_TABLES, false);
  old.write((tables) => {
    const txn = new ShardWriteTxn(tables, false);
    for (const [id, docid, chunks] of [
      [1, 'A', 2],
      [700, 'A', 3],
      [700, 'B', 0],
    ] as const)
      txn.putDocument(ref(id), stored(docid, chunks, 0, chunks - 2));
  });
  old.close();
  const store = ShardStore.open(directory, false);
  const counted = store.read((txn) => [...txn.allCounts()]);
  assert.deepEqual(counted, [
    { id: 1, documents: 1, chunks: 2, prioritized: 0 },
    { id: 700, documents: 2, chunks: 3, prioritized: 2 },
  ]);
  assertCounted(store, 'old data');
  store.close();
});

test('a collection that is being removed has its counts until nothing else is left of it', () => {
  const store = ShardStore.open(tempDirectory(), false);
  store.write((txn) => {
    for (const id of [1, 2])
      for (const docid of ['A', 'B']) txn.putDocument(ref(id), stored(docid, 2, docid === 'A' ? 0 : 2));
  });
  for (let isGone = false; !isGone; ) {
    isGone = store.write((txn) => txn.purgeSome(1 as CollectionId, 3));
    const ids = store.read((txn) => [...txn.allCounts()].map(({ id }) => id));
    assert.deepEqual(ids, isGone ? [2] : [1, 2]);
  }
  assertCounted(store, 'one is gone');
  store.close();
});

test('a truncated record is damage', () => {
  const directory = tempDirectory();
  const store = ShardStore.open(directory, false);
  store.write((txn) => txn.putDocument(ref(1), stored('A', 1)));
  store.close();
  const env = Environment.open(directory, SHARD_TABLES, false);
  env.write(({ counts }) => counts.put(Buffer.alloc(4), Buffer.from([1, 2, 3])));
  env.close();
  const damaged = ShardStore.open(directory, false);
  assert.throws(() => damaged.read((txn) => txn.counts(1 as CollectionId)), DamagedRecord);
  damaged.close();
});
