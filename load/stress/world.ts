// Shared state of the stress test besides the memory under test: a log of every row version, with the moments between
// which it may have been visible and those between which it must have been. One writer (owner.ts), any number of
// readers.
import type { CollectionId } from '../../src/api/ids.js';
import { createPrng } from '../../src/base/prng.js';

/** Number of collections at a time; a dropped one is replaced by another with a new id. */
export const PLACES = 5;
export const ORDINALS = 2048;
export const DIM = 16;
const PUTS_MAX = 1 << 18;
const VERSION_WORDS = 7;

export interface SharedWorld {
  control: Int32Array;
  log: Int32Array;
  newest: Int32Array;
}

export function createShared(): SharedWorld {
  const words = (count: number): Int32Array => new Int32Array(new SharedArrayBuffer(4 * count));
  return { control: words(64), log: words(PUTS_MAX * VERSION_WORDS), newest: words(PLACES * ORDINALS) };
}

/** Indexes of the fields of `control`. */
export const CLOCK = 0;
export const STOP = 1;
/** Non-zero while nothing is written. */
export const QUIET = 2;
const BASE_ROW_VERSION = 3;
/** The incarnation of the memory that the log describes; 0 during a change. */
export const INCARNATION = 4;
export const PUTS = 5;
const NEXT_ID = 6;
export const STOP_READERS = 7;
export const SEARCHES = 8;
const IDS = 16;

/** A version. Times are of the clock; 0 means not yet. */
export interface Version {
  put: number;
  collection: number;
  ordinal: number;
  /** Possibly visible from `bornBegin` to `diedEnd`, and certainly from `bornDone` to `diedBegin`. */
  bornBegin: number;
  bornDone: number;
  diedBegin: number;
  diedEnd: number;
}
export const [BORN_BEGIN, BORN_DONE, DIED_BEGIN, DIED_END] = [2, 3, 4, 5] as const;

export class World {
  constructor(readonly shared: SharedWorld) {}

  get(word: number): number {
    return Atomics.load(this.shared.control, word);
  }

  set(word: number, value: number): void {
    Atomics.store(this.shared.control, word, value);
  }

  tick(): number {
    return Atomics.add(this.shared.control, CLOCK, 1) + 1;
  }

  idAt(place: number): CollectionId {
    return this.get(IDS + place) as CollectionId;
  }

  /** The number of the version that a row version names. */
  putOf(rowVersion: number): number {
    return ((rowVersion - this.get(BASE_ROW_VERSION)) >>> 1) - 1;
  }

  version(put: number): Version | undefined {
    if (put < 0 || put >= this.get(PUTS)) return undefined;
    const at = (i: number): number => Atomics.load(this.shared.log, put * VERSION_WORDS + i);
    return {
      put,
      collection: at(0),
      ordinal: at(1),
      bornBegin: at(2),
      bornDone: at(3),
      diedBegin: at(4),
      diedEnd: at(5),
    };
  }

  /** The versions of a row, newest first, until one that was gone before `since`. */
  *versionsOf(place: number, ordinal: number, since: number): Generator<Version> {
    let number = Atomics.load(this.shared.newest, place * ORDINALS + ordinal);
    for (; number > 0; number = Atomics.load(this.shared.log, (number - 1) * VERSION_WORDS + 6)) {
      const version = this.version(number - 1);
      if (!version || (version.diedEnd !== 0 && version.diedEnd < since)) return;
      yield version;
    }
  }

  /**
   * The version of a row that existed from `before` to `after`, or -1. It is called for every row, so it allocates
   * nothing.
   */
  steadyAt(place: number, collection: number, ordinal: number, before: number, after: number): number {
    const { log, newest } = this.shared;
    for (let number = Atomics.load(newest, place * ORDINALS + ordinal); number > 0; ) {
      const at = (number - 1) * VERSION_WORDS;
      const [done, begin, end] = [
        Atomics.load(log, at + BORN_DONE),
        Atomics.load(log, at + DIED_BEGIN),
        Atomics.load(log, at + DIED_END),
      ];
      if (end !== 0 && end < before) return -1;
      if (log[at] === collection && done !== 0 && done <= before && (begin === 0 || begin > after)) return number - 1;
      number = Atomics.load(log, at + 6);
    }
    return -1;
  }

  /** Starts a log for another incarnation. Owner only, like all methods below. */
  restart(baseRowVersion: number): void {
    this.shared.newest.fill(0);
    this.set(PUTS, 0);
    this.set(BASE_ROW_VERSION, baseRowVersion);
    for (let place = 0; place < PLACES; place++) this.set(IDS + place, 0);
  }

  get isFull(): boolean {
    return this.get(PUTS) > PUTS_MAX - 1000;
  }

  get nextPut(): number {
    return this.get(PUTS);
  }

  createId(place: number): CollectionId {
    const id = Atomics.add(this.shared.control, NEXT_ID, 1) + 1;
    this.set(IDS + place, id);
    return id as CollectionId;
  }

  /** Records a version that is about to be published, and the end of the previous version of its row. */
  addVersion(place: number, collection: CollectionId, ordinal: number): number {
    const put = this.get(PUTS);
    const newest = place * ORDINALS + ordinal;
    const before = Atomics.load(this.shared.newest, newest);
    this.shared.log.set([collection, ordinal, this.tick(), 0, 0, 0, before], put * VERSION_WORDS);
    this.set(PUTS, put + 1);
    Atomics.store(this.shared.newest, newest, put + 1);
    return put;
  }

  mark(put: number, moment: typeof BORN_BEGIN | typeof BORN_DONE | typeof DIED_BEGIN | typeof DIED_END): void {
    Atomics.store(this.shared.log, put * VERSION_WORDS + moment, this.tick());
  }
}

const VECTORS = 997;
const TEXTS = 1009;

/**
 * Contents of the stress test's row versions by number: vector, terms and priority, the same on every thread. They are
 * functions of the number that repeat, so that there are duplicate vectors.
 */
export class Contents {
  private readonly vectors = Array.from({ length: VECTORS }, (_, i) => normal(i));
  private readonly texts = Array.from({ length: TEXTS }, (_, i) => words(i));

  vector(put: number): Float32Array {
    return this.vectors[put % VECTORS] as Float32Array;
  }

  terms(put: number): readonly string[] {
    return this.texts[put % TEXTS] as readonly string[];
  }

  priority(put: number): number {
    return put % 6 === 0 ? 1 + (put % 5) : 0;
  }
}

function normal(seed: number): Float32Array {
  const prng = createPrng(seed);
  return Float32Array.from({ length: DIM }, () => prng.normal());
}

/** Few words are frequent, many are rare; some are longer than a key. */
function wordOf(rank: number): string {
  return rank % 3 === 0 ? `word${rank}ofmany` : `w${rank}`;
}

const WORDS = 300;

export function randomWord(next: () => number): string {
  return wordOf(Math.floor(WORDS * next() ** 3));
}

function words(seed: number): string[] {
  const prng = createPrng(seed + 100_000);
  return Array.from({ length: 1 + prng.int(20) }, () => randomWord(prng.next));
}
