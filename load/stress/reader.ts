// The reader of the stress test: a thread that searches the owner's data in all ways and checks every answer against
// the log. It runs until it is stopped or killed, and reports impossible answers.
import { parentPort, workerData } from 'node:worker_threads';
import type { Ordinal } from '../../src/api/ids.js';
import { type Prng, createPrng } from '../../src/base/prng.js';
import { isSet } from '../../src/engine/filter/bitmap.js';
import { Kernel } from '../../src/engine/memory/arena.js';
import { ArenaFull } from '../../src/engine/memory/bindings.js';
import type { TextIndex } from '../../src/engine/postings/text-index.js';
import type { SegmentView } from '../../src/engine/segments/segment.js';
import { bm25Of } from '../../src/ranking/bm25.js';
import type { LexicalStatistics } from '../../src/ranking/bm25.js';
import { cosine } from '../kit/cosine.js';
import type { OwnerStart } from './owner.js';
import {
  CLOCK,
  Contents,
  DIM,
  INCARNATION,
  ORDINALS,
  PLACES,
  QUIET,
  SEARCHES,
  STOP_READERS,
  type Version,
  World,
  randomWord,
} from './world.js';

/** One search: its collection, and the moments between which it ran. */
interface Search {
  place: number;
  collection: number;
  before: number;
  after: number;
  /** Whether nothing was written from its beginning to its end. */
  isQuiet: boolean;
  what: string;
}

interface ScoredHit {
  ordinal: number;
  rowVersion: number;
  score: number;
}

/**
 * Requirements on an answer beside a writer, by the log of versions. A row version that existed throughout a search
 * must be found where it belongs; one that existed at no moment of it must not; the row version of a hit identifies its
 * version.
 */
class Checks {
  readonly faults: string[] = [];

  /** `isThorough` also checks that nothing is missing, which takes longer than the search. */
  constructor(
    private readonly world: World,
    private readonly contents: Contents,
    private readonly isThorough: boolean,
  ) {}

  /** The versions that existed throughout the search, by ordinal. */
  steady({ place, collection, before, after }: Search): Map<number, Version> {
    const found = new Map<number, Version>();
    for (let ordinal = 0; ordinal < ORDINALS; ordinal++) {
      const version = this.world.version(this.world.steadyAt(place, collection, ordinal, before, after));
      if (version) found.set(ordinal, version);
    }
    return found;
  }

  /** Whether the search may have seen a version of the row that fits. */
  mayHave({ place, collection, before, after }: Search, ordinal: number, fits: (put: number) => boolean): boolean {
    for (const version of this.world.versionsOf(place, ordinal, before)) {
      if (version.collection === collection && version.bornBegin <= after && fits(version.put)) return true;
    }
    return false;
  }

  /** The version that the hit's row version names; undefined, with a fault reported, where that is impossible. */
  versionOf(search: Search, { ordinal, rowVersion }: ScoredHit): Version | undefined {
    const version = (rowVersion & 1) === 1 ? this.world.version(this.world.putOf(rowVersion)) : undefined;
    if (version?.collection !== search.collection || version.ordinal !== ordinal)
      return this.fault(search, `stamp ${rowVersion} at ${ordinal}: ${JSON.stringify(version)}`);
    const mayBe = version.bornBegin <= search.after && (version.diedEnd === 0 || version.diedEnd >= search.before);
    return mayBe ? version : this.fault(search, `a hit that was not there: ${JSON.stringify(version)}`);
  }

  /**
   * Checks a ranking: `hits` are the k best among the steady versions for which `scoreOf` is not undefined, and others
   * that came or went. Scores may differ by `slack`; `isWhole` says that the search covered everything that existed
   * throughout.
   */
  ranking(
    search: Search,
    hits: readonly ScoredHit[],
    k: number,
    scoreOf: (put: number, ordinal: number) => number | undefined,
    slack: number,
    isWhole: boolean,
  ): void {
    const found = new Set(hits.map(({ ordinal }) => ordinal));
    if (found.size !== hits.length || hits.length > k)
      this.fault(search, `${hits.length} hits, ${found.size} different ones`);
    for (const hit of hits) {
      const version = this.versionOf(search, hit);
      const score = version && scoreOf(version.put, hit.ordinal);
      if (version && !(Math.abs((score ?? NaN) - hit.score) <= slack))
        this.fault(search, `score ${hit.score} for ${score}: ${JSON.stringify(version)}`);
    }
    if (!this.isThorough) return;
    const wanted = [...this.steady(search).values()]
      .map(({ put, ordinal }) => ({ ordinal, score: scoreOf(put, ordinal) }))
      .filter(({ score }) => score !== undefined);
    if (hits.length < Math.min(k, wanted.length)) this.fault(search, `${hits.length} hits of ${wanted.length}`);
    const least = hits.length < k ? -Infinity : (hits.at(-1)?.score ?? -Infinity);
    for (const { ordinal, score } of isWhole ? wanted : []) {
      if ((score as number) > least + 2 * slack && !found.has(ordinal))
        this.fault(search, `row ${ordinal} with ${score} was not found, the last has ${least}`);
    }
  }

  /**
   * Checks a bitmap: it has each steady version that fits, no other steady version, and otherwise only rows that may
   * have fitted.
   */
  bitmap(search: Search, has: (ordinal: number) => boolean, fits: (put: number) => boolean): void {
    const steady = this.isThorough ? this.steady(search) : new Map<number, Version>();
    for (let ordinal = 0; ordinal < ORDINALS; ordinal++) {
      const version = steady.get(ordinal);
      if (version && has(ordinal) !== fits(version.put))
        this.fault(search, `row ${ordinal} is ${has(ordinal)}: ${this.contents.terms(version.put).join(' ')}`);
      else if (
        !version &&
        has(ordinal) &&
        ((search.isQuiet && this.isThorough) || !this.mayHave(search, ordinal, fits))
      )
        this.fault(search, `row ${ordinal} never fitted`);
    }
  }

  equal(search: Search, seen: unknown, wanted: unknown): void {
    if (JSON.stringify(seen) !== JSON.stringify(wanted))
      this.fault(search, `${JSON.stringify(seen)} for ${JSON.stringify(wanted)}`);
  }

  fault(search: Search, text: string): undefined {
    this.faults.push(`${JSON.stringify(search)}: ${text}`);
  }
}

// The questions that a reader asks of a segment, each with its check. They are built within Kernel.read; the checks run
// afterwards.

interface Asked {
  what: string;
  check(checks: Checks, search: Search): void;
}

function searchVectors({ index }: SegmentView, prng: Prng, contents: Contents): Asked {
  const query = Float32Array.from({ length: DIM }, () => prng.normal());
  const k = 1 + prng.int(20);
  const exact = prng.int(2) === 0;
  const allowed =
    prng.int(3) === 0
      ? Uint32Array.from({ length: ORDINALS >>> 5 }, () => prng.int(2 ** 31) & prng.int(2 ** 31))
      : undefined;
  const params = { exact, ...(prng.int(2) === 0 && { ef: 40 }) };
  const { count, ordinals, rowVersions, scores } = index.search(query, k, params, { allowed });
  const hits = Array.from(
    { length: count },
    (_, i): ScoredHit => ({
      ordinal: ordinals[i] as number,
      rowVersion: rowVersions[i] as number,
      score: scores[i] as number,
    }),
  );
  const scoreOf = (put: number, ordinal: number): number | undefined =>
    !allowed || isSet(allowed, ordinal) ? cosine(query, contents.vector(put)) : undefined;
  return {
    what: `vectors k ${k} exact ${exact} filtered ${!!allowed}`,
    check: (checks, search) => checks.ranking(search, hits, k, scoreOf, 1e-4, exact),
  };
}

/** Checks the priorities of rows that existed throughout. */
function searchPriorities({ priorities }: SegmentView, contents: Contents): Asked {
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

function searchTerms(view: SegmentView, published: number, prng: Prng, contents: Contents): Asked {
  const { fields } = view;
  if (!fields) return { what: 'no words', check: () => {} };
  const kind = prng.int(8);
  if (kind < 3) return rank(view, fields, published, prng, contents);
  if (kind < 4) return count(fields, prng, contents);
  return find(fields, prng, contents);
}

function rank({ index }: SegmentView, textIndex: TextIndex, published: number, prng: Prng, contents: Contents): Asked {
  const terms = [...new Set(Array.from({ length: 1 + prng.int(5) }, () => randomWord(prng.next)))];
  const k = 1 + prng.int(20);
  const statistics: LexicalStatistics = {
    chunks: 1000,
    tokens: 10_000,
    frequencies: terms.map(() => 1 + prng.int(500)),
  };
  const { count, ordinals, scores } = textIndex.rank(terms, statistics, k);
  const hits = Array.from(
    { length: count },
    (_, i): ScoredHit => ({
      ordinal: ordinals[i] as number,
      rowVersion: index.rowVersionOf(ordinals[i] as number),
      score: scores[i] as number,
    }),
  );
  // Hits of rows that came or went meanwhile are dropped, as a search does before it runs again.
  const kept = hits.filter(({ rowVersion }) => (rowVersion & 1) === 1 && ((rowVersion - published) | 0) <= 0);
  const scoreOf = (put: number): number | undefined => bm25(terms, statistics, contents.terms(put));
  const check = (checks: Checks, search: Search): void => {
    if (new Set(ordinals).size !== count) checks.fault(search, 'a chunk twice');
    if (kept.length === count) return checks.ranking(search, hits, k, scoreOf, 0, true);
    if (search.isQuiet) checks.fault(search, 'a hit of another time');
    checks.ranking(search, kept, kept.length, scoreOf, 0, false);
  };
  return { what: `rank ${terms.join(' ')} k ${k}`, check };
}

/**
 * The BM25 score as the kernel computes it, step by step in float32; undefined for a chunk without any of the terms.
 */
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

function count(textIndex: TextIndex, prng: Prng, contents: Contents): Asked {
  const terms = [randomWord(prng.next), randomWord(prng.next)];
  const { chunks, frequencies } = textIndex.statistics(terms);
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

function find(textIndex: TextIndex, prng: Prng, contents: Contents): Asked {
  const [one, other] = [randomWord(prng.next), randomWord(prng.next)];
  const finders = [...findersOfTerms(textIndex, one, other), ...findersOfPieces(textIndex, one)];
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

function findersOfTerms(textIndex: TextIndex, one: string, other: string): Finder[] {
  const [from, to] = [one, other].sort() as [string, string];
  return [
    ['every', () => textIndex.every(), () => true],
    ['any', () => textIndex.any([one, other]), (chunk) => chunk.includes(one) || chunk.includes(other)],
    [
      'phrase',
      () => textIndex.phrase([one, other]),
      (chunk) => chunk.some((term, i) => term === one && chunk[i + 1] === other),
    ],
    ['range', () => textIndex.range(from, to), (chunk) => chunk.some((term) => term >= from && term < to)],
  ];
}

function findersOfPieces(textIndex: TextIndex, one: string): Finder[] {
  const [start, piece] = [one.slice(0, 2), one.slice(1, 3)];
  return [
    [
      'begun phrase',
      () => textIndex.phrase([one, start], true),
      (chunk) => chunk.some((term, i) => term === one && chunk[i + 1]?.startsWith(start)),
    ],
    ['prefix', () => textIndex.phrase([start], true), (chunk) => chunk.some((term) => term.startsWith(start))],
    ['containing', () => textIndex.containing(piece), (chunk) => chunk.some((term) => term.includes(piece))],
    // Only their number is limited here; the unit tests show that none is missing.
    ['prefix terms', () => (textIndex.prefixTerms(start, 5), textIndex.every()), () => true],
  ];
}

const { module, memory, shared, seed } = workerData as OwnerStart;
const world = new World(shared);
const contents = new Contents();
const kernel = new Kernel(module, memory);
const prng = createPrng(seed);
const pause = new Int32Array(new SharedArrayBuffer(4));
/** Questions per epoch. */
const QUESTIONS = 8;
kernel.joinReaders();
parentPort?.postMessage({ joined: true });

/** Runs one search; returns the check for afterwards, when the moments of the search are known. */
function ask(view: SegmentView, published: number): Asked {
  const kind = prng.int(10);
  if (kind < 4) return searchVectors(view, prng, contents);
  if (kind < 5) return searchPriorities(view, contents);
  return searchTerms(view, published, prng, contents);
}

interface Answered {
  search: Search;
  asked: Asked;
}

/**
 * Asks some questions about a segment, sometimes after a pause in which much is written, until the arena lacks the
 * memory that one of them needs.
 */
function searchSome(): { answered: Answered[]; incarnation: number } {
  const place = prng.int(PLACES);
  const collection = world.idAt(place);
  const answered: Answered[] = [];
  let incarnation = 0;
  try {
    kernel.read((current) => {
      incarnation = current;
      const quiet = world.get(QUIET);
      const before = world.get(CLOCK);
      // A view keeps showing a collection that is dropped meanwhile, so the moments are counted from here on.
      const view = kernel.view(collection);
      if (view && prng.int(4) === 0) Atomics.wait(pause, 0, 0, 4 * prng.next());
      for (let i = 0; view && i < QUESTIONS; i++) {
        const asked = ask(view, kernel.publishedRowVersion());
        // The clock is read before the quiet flag: if the flag is unchanged, nothing was written up to this moment.
        const after = world.get(CLOCK);
        const isQuiet = quiet !== 0 && world.get(QUIET) === quiet;
        answered.push({ search: { place, collection, before, after, isQuiet, what: asked.what }, asked });
      }
    });
  } catch (error) {
    if (!(error instanceof ArenaFull)) throw error;
  }
  return { answered, incarnation };
}

/** What is impossible in the answers. One of them is checked thoroughly. */
function check(answered: readonly Answered[]): string[] {
  const thorough = prng.int(QUESTIONS);
  return answered.flatMap(({ asked, search }, i) => {
    const checks = new Checks(world, contents, i === thorough);
    asked.check(checks, search);
    return checks.faults;
  });
}

while (world.get(STOP_READERS) === 0) {
  const { answered, incarnation } = searchSome();
  const faults = check(answered);
  Atomics.add(shared.control, SEARCHES, answered.length);
  // The owner may have restarted the log meanwhile.
  if (faults.length > 0 && world.get(INCARNATION) === incarnation)
    parentPort?.postMessage({ faults: faults.slice(0, 3) });
}
