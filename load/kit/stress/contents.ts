// What the row versions of the stress test hold, by their numbers: vector, terms and priority, the same on every
// thread. Used by the owner, which puts them, and by the checks of the readers. Pure.
import { createPrng } from '../../../src/base/prng.js';
import { DIM } from './world.js';

const VECTORS = 997;
const TEXTS = 1009;

/** What a version holds: functions of its number, which repeat, so that there are copies among the rows. */
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
