// What dropped collections give back: rounds in which a collection is filled and the one before is dropped, as a shard
// does it, in bounded steps. Prints how large the file is after each round, and how long the longest step took. node
// dist/load/drop.js [--chunks 20000] [--rounds 10] [--tiny].
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { createPrng } from '../src/base/prng.js';
import type { CollectionId, DocId, Ordinal } from '../src/api/ids.js';
import type { CollectionRef } from '../src/api/collections.js';
import { ShardStore } from '../src/storage/shard-store.js';
import { printTable, readArguments, seconds, whole } from './kit/command.js';
import { withFolder } from './kit/server.js';

const { tiny, number } = readArguments('chunks', 'rounds');
const chunks = number('chunks', tiny ? 400 : 20_000);
const rounds = number('rounds', tiny ? 3 : 10);
const DIM = 384;
const CHUNKS_PER_DOCUMENT = 4;
const DOCUMENTS_A_COMMIT = 25;
/** As background.ts of the shard worker has it. */
const PURGE_STEP = 500;
const prng = createPrng(1);

const refOf = (id: number): CollectionRef => ({
  id: id as CollectionId,
  generation: 1,
  dim: DIM,
  language: 'english',
  precision: 'int16',
});

function fill(store: ShardStore, ref: CollectionRef): void {
  const vectors = Float32Array.from({ length: CHUNKS_PER_DOCUMENT * DIM }, () => prng.next());
  const documents = Math.ceil(chunks / CHUNKS_PER_DOCUMENT);
  for (let from = 0; from < documents; from += DOCUMENTS_A_COMMIT) {
    store.write((txn) => {
      for (let n = from; n < Math.min(documents, from + DOCUMENTS_A_COMMIT); n++) {
        const ordinals = Array.from(
          { length: CHUNKS_PER_DOCUMENT },
          (_, i) => (n * CHUNKS_PER_DOCUMENT + i) as Ordinal,
        );
        const record = {
          docid: `D${n}` as DocId,
          version: 1,
          ingestedAtMs: 0,
          metadataJson: '{}',
          priority: 0,
          chunkCount: CHUNKS_PER_DOCUMENT,
        };
        txn.putDocument(ref, {
          record,
          ordinals,
          chunks: ordinals.map((_, i) => ({
            path: `chunk_${i}`,
            metaJson: '{}',
            text: 'some text of a chunk '.repeat(30),
          })),
          vectors,
        });
      }
    });
  }
}

interface Purge {
  steps: number;
  longestMs: number;
  totalMs: number;
}

function purge(store: ShardStore, { id }: CollectionRef): Purge {
  const purged: Purge = { steps: 0, longestMs: 0, totalMs: 0 };
  for (let isOver = false; !isOver; purged.steps++) {
    const startMs = performance.now();
    isOver = store.write((txn) => txn.purgeSome(id, PURGE_STEP));
    const tookMs = performance.now() - startMs;
    purged.longestMs = Math.max(purged.longestMs, tookMs);
    purged.totalMs += tookMs;
  }
  return purged;
}

await withFolder(async (folder) => {
  const directory = join(folder, 'shard-0');
  const store = ShardStore.open(directory, false);
  const rows: string[][] = [['round', 'file', 'steps of the purge', 'longest', 'in all']];
  for (let round = 1; round <= rounds; round++) {
    fill(store, refOf(round));
    const { steps, longestMs, totalMs } = purge(store, refOf(round));
    rows.push([
      String(round),
      `${whole(statSync(join(directory, 'data.mdb')).size / 1e6)} MB`,
      whole(steps),
      `${longestMs.toFixed(1)} ms`,
      seconds(totalMs),
    ]);
  }
  store.close();
  printTable(`collections of ${whole(chunks)} chunks of ${DIM} numbers, filled and dropped one after the other`, rows);
});
