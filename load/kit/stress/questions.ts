// The questions that a reader of the stress test asks of a part, each with the check of its answer. Made within
// Kernel.read; the checks are run after it.
import type { Prng } from '../../../src/base/prng.js';
import type { Ordinal } from '../../../src/contract/ids.js';
import type { LexicalStatistics } from '../../../src/contract/ranking.js';
import { bm25Of } from '../../../src/rank/bm25.js';
import { isSet } from '../../../workers/shard/bitmaps.js';
import type { PartView } from '../../../workers/shard/part-view.js';
import type { WordIndex } from '../../../workers/shard/words/word-index.js';
import { cosine } from '../cosine.js';
import type { Checks, ScoredHit, Search } from './checks.js';
import { randomWord, type Contents } from './contents.js';
import { DIM, ORDINALS } from './world.js';

export interface Asked {
  what: string;
  check(checks: Checks, search: Search): void;
}

export function searchVectors({ index }: PartView, prng: Prng, contents: Contents): Asked {
  const query = Float32Array.from({ length: DIM }, () => prng.normal());
  const k = 1 + prng.int(20);
  const exact = prng.int(2) === 0;
  const allowed =
    prng.int(3) === 0
      ? Uint32Array.from({ length: ORDINALS >>> 5 }, () => prng.int(2 ** 31) & prng.int(2 ** 31))
      : undefined;
  const { count, ordinals, stamps, scores } = index.search(query, k, {
    exact,
    ...(prng.int(2) === 0 && { ef: 40 }),
    allowed,
  });
  const hits = Array.from(
    { length: count },
    (_, i): ScoredHit => ({ ordinal: ordinals[i] as number, stamp: stamps[i] as number, score: scores[i] as number }),
  );
  const scoreOf = (put: number, ordinal: number): number | undefined =>
    !allowed || isSet(allowed, ordinal) ? cosine(query, contents.vector(put)) : undefined;
  return {
    what: `vectors k ${k} exact ${exact} filtered ${!!allowed}`,
    check: (checks, search) => checks.ranking(search, hits, k, scoreOf, 1e-4, exact),
  };
}

/** Priorities of rows that were there throughout. */
export function searchPriorities({ priorities }: PartView, contents: Contents): Asked {
  const bitmap = priorities.bitmap();
  const values = Array.from({ length: ORDINALS }, (_, ordinal) => priorities.of(ordinal as Ordinal));
  const check = (checks: Checks, search: Search): void => {
    for (const { ordinal, put } of checks.steady(search).values()) {
      const priority = contents.priority(put);
      if (values[ordinal] !== priority || isSet(bitmap, ordinal) !== (priority !== 0))
        checks.fault(search, `priority ${values[ordinal]} of ${ordinal} for ${priority}`);
    }
  };
  return { what: 'priorities', check };
}

export function searchWords(view: PartView, settled: number, prng: Prng, contents: Contents): Asked {
  const { fields } = view;
  if (!fields) return { what: 'no words', check: () => {} };
  const kind = prng.int(8);
  if (kind < 3) return rank(view, fields, settled, prng, contents);
  if (kind < 4) return count(fields, prng, contents);
  return find(fields, prng, contents);
}

function rank({ index }: PartView, words: WordIndex, settled: number, prng: Prng, contents: Contents): Asked {
  const terms = [...new Set(Array.from({ length: 1 + prng.int(5) }, () => randomWord(prng.next)))];
  const k = 1 + prng.int(20);
  const statistics: LexicalStatistics = {
    chunks: 1000,
    tokens: 10_000,
    frequencies: terms.map(() => 1 + prng.int(500)),
  };
  const { count, ordinals, scores } = words.rank(terms, statistics, k);
  const hits = Array.from(
    { length: count },
    (_, i): ScoredHit => ({
      ordinal: ordinals[i] as number,
      stamp: index.stampOf(ordinals[i] as number),
      score: scores[i] as number,
    }),
  );
  // Others came or went meanwhile: whoever asks drops them, and asks again.
  const kept = hits.filter(({ stamp }) => (stamp & 1) === 1 && ((stamp - settled) | 0) <= 0);
  const scoreOf = (put: number): number | undefined => bm25(terms, statistics, contents.terms(put));
  const check = (checks: Checks, search: Search): void => {
    if (new Set(ordinals).size !== count) checks.fault(search, 'a chunk twice');
    if (kept.length === count) return checks.ranking(search, hits, k, scoreOf, 0, true);
    if (search.isQuiet) checks.fault(search, 'a hit of another time');
    checks.ranking(search, kept, kept.length, scoreOf, 0, false);
  };
  return { what: `rank ${terms.join(' ')} k ${k}`, check };
}

/** As the kernel computes it, operation by operation in float32; undefined for a chunk without any of the terms. */
function bm25(terms: readonly string[], statistics: LexicalStatistics, chunk: readonly string[]): number | undefined {
  const { factors, norm, normPerToken, scale } = bm25Of(statistics);
  const { fround } = Math;
  const total = fround(fround(norm) + fround(fround(normPerToken) * chunk.length));
  let score = 0;
  terms.forEach((term, i) => {
    const times = chunk.filter((other) => other === term).length;
    if (times > 0) score += Math.trunc(fround((factors[i] as number) / fround(1 + fround(total / times)))) + 1;
  });
  return score === 0 ? undefined : score / scale;
}

function count(words: WordIndex, prng: Prng, contents: Contents): Asked {
  const terms = [randomWord(prng.next), randomWord(prng.next)];
  const { chunks, frequencies } = words.statistics(terms);
  const check = (checks: Checks, search: Search): void => {
    if (!search.isQuiet) return;
    const live = [...checks.steady(search).values()].map(({ put }) => contents.terms(put));
    checks.equal(
      search,
      { chunks, frequencies },
      { chunks: live.length, frequencies: terms.map((term) => live.filter((chunk) => chunk.includes(term)).length) },
    );
  };
  return { what: `count ${terms.join(' ')}`, check };
}

type Finder = [what: string, bitmap: () => Uint32Array, fits: (chunk: readonly string[]) => boolean];

function find(words: WordIndex, prng: Prng, contents: Contents): Asked {
  const [one, other] = [randomWord(prng.next), randomWord(prng.next)];
  const finders = [...findersOfTerms(words, one, other), ...findersOfParts(words, one)];
  const [what, find, fits] = finders[prng.int(finders.length)] as Finder;
  const bitmap = find();
  return {
    what: `${what} ${one} ${other}`,
    check: (checks, search) =>
      checks.bitmap(
        search,
        (ordinal) => isSet(bitmap, ordinal),
        (put) => fits(contents.terms(put)),
      ),
  };
}

function findersOfTerms(words: WordIndex, one: string, other: string): Finder[] {
  const [from, to] = [one, other].sort() as [string, string];
  return [
    ['every', () => words.every(), () => true],
    ['any', () => words.any([one, other]), (chunk) => chunk.includes(one) || chunk.includes(other)],
    [
      'phrase',
      () => words.phrase([one, other]),
      (chunk) => chunk.some((term, i) => term === one && chunk[i + 1] === other),
    ],
    ['range', () => words.range(from, to), (chunk) => chunk.some((term) => term >= from && term < to)],
  ];
}

function findersOfParts(words: WordIndex, one: string): Finder[] {
  const [start, piece] = [one.slice(0, 2), one.slice(1, 3)];
  return [
    [
      'begun phrase',
      () => words.phrase([one, start], true),
      (chunk) => chunk.some((term, i) => term === one && chunk[i + 1]?.startsWith(start)),
    ],
    ['prefix', () => words.phrase([start], true), (chunk) => chunk.some((term) => term.startsWith(start))],
    ['containing', () => words.containing(piece), (chunk) => chunk.some((term) => term.includes(piece))],
    // Their number alone is limited: that none is missing is what the suite's own tests show.
    ['prefix terms', () => (words.prefixTerms(start, 5), words.every()), () => true],
  ];
}
