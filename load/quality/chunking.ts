// Chunkings on the judged collections of ../shared/data with the built-in embedder: what the strategies find over HTTP,
// and how fast they cut. The default is chosen by one collection and judged by the others.
import type { Chunking } from '../../src/api/collections.js';
import { SheafClient } from '../../src/client/client.js';
import { bootstrapInterval, meanOf, ndcgOf } from '../../src/ranking/evaluation.js';
import { chunkText } from '../../src/text/chunking.js';
import { chooser, type LoadOptions, printTable, whole } from '../kit/command.js';
import { ingestJudged, passageOf, rankingsOf, SEARCH_MODES } from '../kit/judged-searches.js';
import { ownCpuMs } from '../kit/server-usage.js';
import { withServer } from '../kit/server.js';
import { dataFolder, JUDGED_COLLECTIONS, readJudged } from '../kit/text-sets.js';

const SIZES: readonly [size: number, overlap: number][] = [
  [300, 60],
  [600, 120],
  [1000, 200],
  [2000, 200],
];
const STRATEGIES = ['fixed', 'sentence', 'paragraph'] as const;
const CHUNKINGS: readonly Chunking[] = [
  // The default, to which the others are compared.
  { strategy: 'fixed', size: 1000, overlap: 200 },
  ...SIZES.flatMap(([size, overlap]) => STRATEGIES.map((strategy) => ({ strategy, size, overlap }))).slice(0, -1),
  { strategy: 'none' },
];
const MODES = ['vector', 'hybrid'] as const;
/** Chunks of a ranking; of a document the best one counts. */
const K = 60;
const SEED = 1;

const nameOf = ({ strategy, size, overlap }: Chunking): string =>
  size === undefined ? strategy : `${strategy} ${size}/${overlap}`;

/**
 * nDCG@10 of documents by their best chunk, in modes vector and hybrid, for each strategy and size, with the difference
 * to the default query by query and its 95 % interval by the bootstrap.
 */
export async function chunking({ tiny, names }: LoadOptions): Promise<void> {
  for (const name of chooser(names, JUDGED_COLLECTIONS)(JUDGED_COLLECTIONS)) {
    const folder = dataFolder(name);
    if (folder === undefined) continue;
    const { documents, queries } = readJudged(folder, tiny ? 100 : Infinity, tiny ? 10 : Infinity);
    const chunkings = tiny ? CHUNKINGS.slice(0, 3) : CHUNKINGS;
    const rows = await withServer(undefined, async (url) => {
      const client = new SheafClient({ url });
      const first: number[][] = [];
      const done: string[][] = [];
      for (const [i, chosen] of chunkings.entries()) {
        const collection = `${name}-${i}`;
        await ingestJudged(client, collection, documents, chosen);
        const { chunk_count: chunks } = await client.collectionDetail('load', collection);
        const row = [nameOf(chosen), whole(chunks)];
        for (const [m, mode] of MODES.entries()) {
          const searches = queries.map(({ text }) => ({ ...SEARCH_MODES[mode], q: text, k: K, with_text: false }));
          const rankings = await rankingsOf(client, collection, searches);
          const ndcgs = rankings.map((ids, q) => ndcgOf([...new Set(ids)], queries[q]!.grades));
          first[m] ??= ndcgs;
          const differences = ndcgs.map((ndcg, q) => ndcg - first[m]![q]!);
          const interval = bootstrapInterval(differences, SEED).map((bound) => bound.toFixed(3));
          row.push(
            meanOf(ndcgs).toFixed(4),
            i === 0 ? '' : `${meanOf(differences).toFixed(4)} (${interval.join(' to ')})`,
          );
        }
        done.push(row);
      }
      return done;
    });
    printTable(`${name}, ${whole(documents.length)} documents, ${whole(queries.length)} queries: nDCG@10 by chunking`, [
      ['chunking', 'chunks', ...MODES.flatMap((mode) => [mode, `difference to ${nameOf(CHUNKINGS[0]!)}`])],
      ...rows,
    ]);
  }
}

/** Texts of one kind, repeated, beside a real collection: scripts without spaces, and what is slow to cut. */
const MADE: readonly (readonly [name: string, text: string])[] = [
  ['Chinese', '今天天气很好，我们去公园散步。你好吗？这是一个测试句子。'],
  ['Thai, no spaces', 'ภาษาไทยเป็นภาษาที่มีการเขียนโดยไม่มีช่องว่างระหว่างคำซึ่งทำให้การตัดคำเป็นเรื่องยาก'],
  ['one word', 'x'],
  ['line breaks', '\n'],
  ['titles', 'Mr. '],
];

/** Millions of characters a second of CPU that each strategy cuts, in this process. */
export function cutting({ tiny }: LoadOptions): void {
  const folder = dataFolder('scifact');
  const real =
    folder &&
    readJudged(folder, tiny ? 100 : Infinity, 0)
      .documents.map(passageOf)
      .join('\n\n');
  const length = tiny ? 1e4 : 1e6;
  const texts = [
    ...(real ? [['SciFact', real.slice(0, 4 * length)] as const] : []),
    ...MADE.map(([name, text]) => [name, text.repeat(Math.ceil(length / text.length))] as const),
  ];
  const rows = texts.map(([name, text]) => [
    name,
    ...STRATEGIES.map((strategy) => {
      const startedAt = ownCpuMs();
      chunkText(text, { strategy, size: 1000, overlap: 200 });
      return (text.length / 1000 / Math.max(ownCpuMs() - startedAt, 0.01)).toFixed(2);
    }),
  ]);
  printTable('Millions of characters a second of CPU, chunks of 1,000 characters', [['text', ...STRATEGIES], ...rows]);
}
