// The worst query beside the mean: recall@10 of all queries of a set, of which there are up to ten thousand, by default
// and at breadths, with how many find few of their ten; the same rows in several orders, each of which gives another
// graph and another check. node dist/load/worst-queries.js [--sets a,b] [--orders N] [--rows N] [--efs 64,128] [--tiny]
import { createHash } from 'node:crypto';
import { createPrng } from '../src/base/prng.js';
import type { VectorIndex } from '../src/engine/hnsw/vector-index.js';
import { ROOT_EF } from '../src/engine/memory/layout.js';
import { printTable, readArguments } from './kit/command.js';
import { EMBEDDED_SETS } from './kit/embedded-sets.js';
import { K, buildIndex, keepBuilt, keptBuilt } from './kit/vector-engine.js';
import { clustered, cranfieldChunks, glove, mnist, sift, windows, type VectorSet } from './kit/vector-sets.js';

/** Scores of the same rows are the same; others as near as this are as good. */
const TIE = 1e-6;

const { tiny, number, text } = readArguments('sets', 'orders', 'rows', 'efs', 'fresh');
const rowsMax = number('rows', 1_000_000);
const efs = text('efs')?.split(',').map(Number) ?? [];

const SETS: Readonly<Record<string, () => VectorSet | undefined | Promise<VectorSet | undefined>>> = {
  windows: () => windows(60_000),
  ...EMBEDDED_SETS,
  chunks: cranfieldChunks,
  glove,
  sift,
  mnist,
};

/** The score of the last of the `K` nearest to each query: the same whatever the order of the rows. */
function kthScores({ name, rows, queries }: VectorSet, index: VectorIndex): Float32Array {
  const about = createHash('sha256')
    .update(`${name} ${rows.length} ${queries.length}`)
    .update(new Uint8Array(rows[rows.length - 1]!.slice().buffer));
  const key = `kth-${about.digest('hex').slice(0, 16)}`;
  const kept = keptBuilt(key);
  if (kept)
    return new Float32Array(kept.bytes.buffer.slice(kept.bytes.byteOffset, kept.bytes.byteOffset + kept.bytes.length));
  const scores = Float32Array.from(queries, (query) => index.search(query, K, { exact: true }).scores.at(-1)!);
  keepBuilt(key, new Uint8Array(scores.buffer), {});
  return scores;
}

function shuffled(set: VectorSet, seed: number): VectorSet {
  const rows = [...set.rows];
  const prng = createPrng(seed);
  for (let i = rows.length - 1; i > 0; i--) {
    const j = prng.int(i + 1);
    [rows[i], rows[j]] = [rows[j]!, rows[i]!];
  }
  return { ...set, rows, name: `${set.name}, order ${seed}` };
}

const cells: string[][] = [];
const named = tiny ? [] : (text('sets')?.split(',') ?? Object.keys(SETS));
for (const read of tiny ? [() => clustered(5000, 64, 1)] : named.map((name) => SETS[name]!)) {
  const all = await read();
  if (!all) continue;
  const set = { ...all, rows: all.rows.slice(0, rowsMax) };
  let kth: Float32Array | undefined;
  for (let order = 0; order < number('orders', 1); order++) {
    const ordered = order === 0 ? set : shuffled(set, order);
    const { index, buildRate } = buildIndex(ordered, true);
    kth ??= kthScores(set, index);
    for (const ef of [undefined, ...efs]) {
      const startedAt = process.cpuUsage();
      const found = set.queries.map((query, i) => {
        const { scores } = index.search(query, K, ef === undefined ? {} : { ef });
        return scores.filter((score) => score >= kth![i]! - TIE).length;
      });
      const { user, system } = process.cpuUsage(startedAt);
      const tau = index['instance'].copyFloats(index.root + 108, 1)[0]!;
      const few = (most: number): string => String(found.filter((count) => count <= most).length);
      cells.push([
        `${set.name}, ${set.rows.length}`,
        String(order),
        ef === undefined
          ? `default (${index['instance'].word(index.root + ROOT_EF)}, trusted from ${tau.toFixed(3)}, ${index['instance'].copyFloats(index.root + 112, 1)[0]!.toFixed(3)})`
          : String(ef),
        (found.reduce((sum, count) => sum + count, 0) / found.length / K).toFixed(4),
        few(0),
        few(2),
        few(4),
        few(6),
        String(set.queries.length),
        ((user + system) / found.length).toFixed(1),
        buildRate.toFixed(0),
      ]);
      console.log(cells.at(-1)!.join(' | '));
    }
  }
}
printTable('recall@10: the mean, and how many queries find few of their ten', [
  ['set', 'order', 'ef', 'mean', 'none', '2 or fewer', '4 or fewer', '6 or fewer', 'queries', 'us a query', 'built/s'],
  ...cells,
]);
