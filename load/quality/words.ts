// Typing errors in the queries of the judged collections: what `fuzzy` gives back of the quality of clean queries, and
// what it takes from them. Also the time that the text index takes to list the terms near a word.
import { type Prng, createPrng } from '../../src/base/prng.js';
import type { SheafClient } from '../../src/client/client.js';
import { ndcgOf } from '../../src/ranking/evaluation.js';
import { termOfWord } from '../../src/text/stemming.js';
import { chunkTerms } from '../../src/text/terms.js';
import { tokensOf } from '../../src/text/tokenize.js';
import { type LoadOptions, chooser, printTable, whole } from '../kit/command.js';
import { SEARCH_MODES, ingestJudged, rankingsOf, withEmbedder } from '../kit/judged-searches.js';
import { createKernel } from '../kit/kernel.js';
import { ownCpuMs } from '../kit/server-usage.js';
import { JUDGED_COLLECTIONS, type JudgedQuery, dataFolder, readJudged } from '../kit/text-sets.js';

const SEED = 1;
const K = 10;
const MODES = ['words alone', 'boost', 'hybrid', 'hybrid of scores'];
const LETTERS = [...'abcdefghijklmnopqrstuvwxyz'];
/** Shorter words are typed without errors here. */
const ERRING_MIN = 4;

/**
 * nDCG@10 over HTTP with the built-in embedder, by mode: of the clean queries and of the same with an error in one word
 * each, without and with `fuzzy`.
 */
export async function words({ tiny, names, number }: LoadOptions): Promise<void> {
  const chosen = chooser(names, JUDGED_COLLECTIONS)(JUDGED_COLLECTIONS);
  const rows = await withEmbedder(undefined, async (client) => {
    const all: string[][] = [];
    for (const name of chosen) all.push(...(await rowsOf(client, name, number('seed', SEED), tiny)));
    return all;
  });
  if (rows.length > 0)
    printTable(`nDCG@10 with an error in a word of each query${tiny ? ', of samples: no quality figures' : ''}`, [
      ['collection', 'mode', 'clean', 'clean, fuzzy', 'error', 'error, fuzzy'],
      ...rows,
    ]);
}

async function rowsOf(client: SheafClient, name: string, seed: number, tiny: boolean): Promise<string[][]> {
  const folder = dataFolder(name);
  if (!folder) return [];
  const { documents, queries } = readJudged(folder, tiny ? 60 : Infinity, tiny ? 5 : Infinity);
  await ingestJudged(client, name, documents);
  const prng = createPrng(seed);
  const erring = queries.map((query) => ({ ...query, text: withError(prng, query.text) }));
  const rows: string[][] = [];
  for (const mode of MODES) {
    const ndcg = async (asked: readonly JudgedQuery[], fuzzy: boolean): Promise<string> => {
      const searches = asked.map(({ text }) => ({ ...SEARCH_MODES[mode], q: text, k: K, fuzzy }));
      const rankings = await rankingsOf(client, name, searches);
      const all = rankings.map((ids, i) => ndcgOf(ids, (asked[i] as JudgedQuery).grades));
      return (all.reduce((sum, one) => sum + one, 0) / all.length).toFixed(4);
    };
    const clean = [await ndcg(queries, false), await ndcg(queries, true)];
    rows.push([name, mode, ...clean, await ndcg(erring, false), await ndcg(erring, true)]);
  }
  return rows;
}

/** A text with one error in a word that ranks; unchanged if it has none. */
function withError(prng: Prng, text: string): string {
  const places = Array.from(text.matchAll(/[a-z]+/gi)).filter(
    ([word]) => word.length >= ERRING_MIN && termOfWord(word.toLowerCase(), 'english') !== undefined,
  );
  const drawn = places[prng.int(places.length)];
  if (!drawn) return text;
  const [word] = drawn;
  return text.slice(0, drawn.index) + mistyped(prng, word) + text.slice(drawn.index + word.length);
}

/** One letter inserted, left out or replaced, or two swapped, at any place. */
export function mistyped(prng: Prng, word: string): string {
  for (;;) {
    const at = prng.int(word.length);
    const letter = LETTERS[prng.int(LETTERS.length)] as string;
    const [before, rest] = [word.slice(0, at), word.slice(at)];
    const ways = [letter + rest, rest.slice(1), letter + rest.slice(1), rest.slice(1, 2) + rest[0] + rest.slice(2)];
    const erring = before + (ways[prng.int(ways.length)] as string);
    if (erring !== word) return erring;
  }
}

const TERMS = 200_000;
const ASKED = 400;
const ROUNDS = 3;
const NEAR_MAX = 256;
const WAYS = [
  ['one edit', { edits: 1, fixed: 0, isPrefix: false }],
  ['two edits, first letter kept', { edits: 2, fixed: 1, isPrefix: false }],
  ['two edits', { edits: 2, fixed: 0, isPrefix: false }],
  ['beginning of three letters', { edits: 0, fixed: 3, isPrefix: true }],
  ['beginning of six letters, one edit', { edits: 1, fixed: 0, isPrefix: true }],
] as const;

/**
 * Milliseconds of CPU to list the terms near a mistyped word in an index of many terms: those of the judged
 * collections, and of them with errors and joined in pairs until there are enough.
 */
export function near({ tiny, number }: LoadOptions): void {
  const wanted = number('terms', tiny ? 2000 : TERMS);
  const prng = createPrng(SEED);
  const real = realWords();
  if (real.length === 0) return;
  const terms = new Set(real.slice(0, wanted));
  while (terms.size < wanted) {
    const [a, b] = [real[prng.int(real.length)] as string, real[prng.int(real.length)] as string];
    terms.add(prng.int(2) === 0 ? mistyped(prng, a) : a.slice(0, 6) + b.slice(-6));
  }
  const index = createKernel().createTextIndex();
  let ordinal = 0;
  for (const term of terms) index.add(ordinal++, chunkTerms(term, 'english'));
  index.freeze();
  while (index.mergeSome(1000, true));
  const typed = real.filter((word) => word.length >= 8);
  const rows = WAYS.map(([name, nearness]) => {
    const asked = Array.from({ length: tiny ? 10 : ASKED }, () => {
      const word = mistyped(prng, typed[prng.int(typed.length)] as string);
      return nearness.isPrefix ? word.slice(0, nearness.fixed || 6) : word;
    });
    let found = 0;
    const times = Array.from({ length: ROUNDS }, () =>
      asked.map((word) => {
        const startedAt = ownCpuMs();
        found += index.nearTerms(word, nearness, NEAR_MAX).size;
        return ownCpuMs() - startedAt;
      }),
    );
    const best = asked.map((_, i) => Math.min(...times.map((round) => round[i] as number))).sort((a, b) => a - b);
    const mean = best.reduce((sum, one) => sum + one, 0) / best.length;
    const p95 = best[Math.floor(best.length * 0.95)] as number;
    const worst = best.at(-1) as number;
    return [name, ...[mean, p95, worst].map((ms) => ms.toFixed(3)), (found / ROUNDS / asked.length).toFixed(1)];
  });
  printTable(`milliseconds of CPU for the terms near a word, of ${whole(terms.size)} terms in one run`, [
    ['near', 'mean', 'p95', 'worst', 'found'],
    ...rows,
  ]);
}

/** The distinct words of the judged collections. */
function realWords(): string[] {
  const found = new Set<string>();
  for (const name of JUDGED_COLLECTIONS) {
    const folder = dataFolder(name);
    if (!folder) continue;
    for (const { title = '', text } of readJudged(folder, Infinity, 0).documents)
      for (const word of tokensOf(`${title} ${text}`)) if (/^[a-z]{2,}$/.test(word)) found.add(word);
  }
  return [...found].sort();
}
