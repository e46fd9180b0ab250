// Memory of a shard before and after nine documents in ten are deleted, and what giving it back takes. Store, index and
// background work as in a shard worker, in this process; no HTTP. node dist/load/deletes.js [--rows 60000] [--tiny]
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createArenaMemory } from '../src/base/huge-pages.js';
import { createPrng } from '../src/base/prng.js';
import type { CollectionId, DocId } from '../src/api/ids.js';
import type { CollectionRef } from '../src/api/collections.js';
import { packDocument } from '../src/text/prepared-document.js';
import { ShardStore } from '../src/storage/shard-store.js';
import { compactSome } from '../src/engine/compaction.js';
import { Arenas, Kernel } from '../src/engine/memory/arena.js';
import type { Part } from '../src/engine/segments/segment.js';
import { Shard } from '../src/engine/shard.js';
import { applyWrites, type DocumentWrite } from '../src/engine/write/write.js';
import { printTable, readArguments, whole } from './kit/command.js';
import { settle } from './kit/vector-engine.js';
import { clustered, windows } from './kit/vector-sets.js';

const BATCH = 500;
const CHUNKS_PER_DOCUMENT = 5;

const { tiny, number } = readArguments('rows');
const rows = number('rows', tiny ? 6000 : 60_000);
const set = tiny ? clustered(rows, 64, 1) : (windows(rows) ?? clustered(rows, 384, 1));
const dim = set.rows[0]?.length ?? 0;
const ref: CollectionRef = { id: 1 as CollectionId, generation: 1, dim, language: 'none', precision: 'int16' };
const docids = Array.from({ length: Math.floor(set.rows.length / CHUNKS_PER_DOCUMENT) }, (_, i) => `D${i}` as DocId);

function put(docid: DocId, i: number): DocumentWrite {
  const own = set.rows.slice(i * CHUNKS_PER_DOCUMENT, (i + 1) * CHUNKS_PER_DOCUMENT);
  const document = packDocument({
    docid,
    ingestedAtMs: 0,
    metadataJson: '{}',
    priority: 0,
    chunks: own.map((_, n) => ({ path: `c${n}`, metaJson: '{}' })),
  });
  return { op: 'put', collection: ref, document, vectors: Float32Array.from(own.flatMap((row) => [...row])) };
}

function applyAll(shard: Shard, writes: readonly DocumentWrite[]): void {
  for (let from = 0; from < writes.length; from += BATCH) applyWrites(shard, writes.slice(from, from + BATCH));
}

/** Milliseconds of the longest step, and of all. */
function compact(shard: Shard, part: Part): { longestMs: number; ms: number } {
  const startedAtMs = performance.now();
  let longestMs = 0;
  for (let isMore = true; isMore; ) {
    const stepAtMs = performance.now();
    isMore = compactSome(shard, part);
    longestMs = Math.max(longestMs, performance.now() - stepAtMs);
  }
  while (shard.arenas.reclaim());
  return { longestMs, ms: performance.now() - startedAtMs };
}

const folder = mkdtempSync(join(tmpdir(), 'sheaf-deletes-'));
try {
  const kernel = new Kernel(
    new WebAssembly.Module(readFileSync(new URL('../src/engine/kernel.wasm', import.meta.url))),
    createArenaMemory(64, 65536),
  );
  const shard = Shard.open(ShardStore.open(folder, false), new Arenas([kernel]), { collections: [], isWhole: true });
  const table = [['', 'chunks', 'bytes in use', 'bytes a chunk']];
  const report = (state: string): void => {
    const chunks = shard.parts.of(ref.id)[0]?.index.liveCount ?? 0;
    table.push([state, whole(chunks), whole(kernel.usedBytes()), whole(kernel.usedBytes() / chunks)]);
  };
  applyAll(shard, docids.map(put));
  const part = shard.parts.of(ref.id)[0] as Part;
  settle(part.index);
  report('loaded and linked');
  const prng = createPrng(1);
  applyAll(
    shard,
    docids.filter(() => prng.int(10) > 0).map((docid) => ({ op: 'deleteDocument', collection: ref, docid })),
  );
  report('nine documents in ten deleted');
  const { longestMs, ms } = compact(shard, part);
  report('given back');
  settle(part.index);
  report('linked again');
  printTable(`Memory of a shard, ${set.name}`, table);
  console.log(`giving back took ${whole(ms)} ms, the longest step ${longestMs.toFixed(1)} ms`);
  shard.close();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
