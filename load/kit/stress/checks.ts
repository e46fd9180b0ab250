// What an answer given beside a writer must and may contain, by the log of versions. A row version that was there
// throughout a search must be found where it belongs; one that was there at no moment of it must not; the stamp of a
// hit names its version.
import type { Contents } from './contents.js';
import { ORDINALS, type Version, type World } from './world.js';

/** One search: where, and between which moments. */
export interface Search {
  place: number;
  collection: number;
  before: number;
  after: number;
  /** Nothing was written from its beginning to its end. */
  isQuiet: boolean;
  what: string;
}

export interface ScoredHit {
  ordinal: number;
  stamp: number;
  score: number;
}

export class Checks {
  readonly faults: string[] = [];

  /** `isThorough`: also looks for what is missing, which takes longer than a search. */
  constructor(
    private readonly world: World,
    private readonly contents: Contents,
    private readonly isThorough: boolean,
  ) {}

  /** The versions that were there throughout, by ordinal. */
  steady({ place, collection, before, after }: Search): Map<number, Version> {
    const found = new Map<number, Version>();
    for (let ordinal = 0; ordinal < ORDINALS; ordinal++) {
      const version = this.world.version(this.world.steadyAt(place, collection, ordinal, before, after));
      if (version) found.set(ordinal, version);
    }
    return found;
  }

  /** Whether a version of the row that fits may have been seen. */
  mayHave({ place, collection, before, after }: Search, ordinal: number, fits: (put: number) => boolean): boolean {
    for (const version of this.world.versionsOf(place, ordinal, before)) {
      if (version.collection === collection && version.bornBegin <= after && fits(version.put)) return true;
    }
    return false;
  }

  /** The version that a hit says it is; undefined, and a fault, where that cannot be. */
  versionOf(search: Search, { ordinal, stamp }: ScoredHit): Version | undefined {
    const version = (stamp & 1) === 1 ? this.world.version(this.world.putOf(stamp)) : undefined;
    if (version?.collection !== search.collection || version.ordinal !== ordinal)
      return this.fault(search, `stamp ${stamp} at ${ordinal}: ${JSON.stringify(version)}`);
    const mayBe = version.bornBegin <= search.after && (version.diedEnd === 0 || version.diedEnd >= search.before);
    return mayBe ? version : this.fault(search, `a hit that was not there: ${JSON.stringify(version)}`);
  }

  /**
   * `hits` are the k best of the steady versions for which `scoreOf` is not undefined, and of others. Scores are within
   * `slack`; `isWhole`: all that were there throughout were looked at.
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

  /** The bitmap has each steady version that fits, no other steady one, and otherwise rows that may have fitted. */
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
