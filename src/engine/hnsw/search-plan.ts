// How a search of an index goes: as its parameters say, else by a walk through the graph, broad enough for the recall
// that is kept (recall-tuner.ts), by the codes of all rows where few are left to be ranked or a walk cannot be trusted,
// or by the rows themselves, where that is as fast and while the index has not been checked. Any thread.
import type { SearchParams } from '../../api/search.js';
import { hitsIn } from '../../ranking/top-k.js';
import type { Instance } from '../memory/bindings.js';
import {
  NONE,
  ROOT_CHECKED,
  ROOT_CODES,
  ROOT_DIM,
  ROOT_EF,
  ROOT_WATERMARK,
  SCAN_CODES,
  SCAN_RERANK,
  SCAN_ROWS,
} from '../memory/layout.js';
import type { Bitmap } from '../filter/bitmap.js';

/** What of all rows that are searched an index answers for. */
export interface SearchScope {
  /**
   * The share of them that the index has, 1 where it is left out: a walk for the best of all is less broad in each of
   * many indexes.
   */
  readonly share?: number | undefined;
  /** The rows that may be answered; all where it is left out. */
  readonly allowed?: Bitmap | undefined;
}

/** How the kernel is to search (kernel/hnsw/search.ts). */
export interface Way {
  /** Breadth of the walk; SCAN_CODES for a scan of the codes, 0 for one of the rows. */
  readonly ef: number;
  /** How many candidates are scored by their rows. */
  readonly rerank: number;
  /** Whether the walk goes by rows that the filter does not admit as by others. */
  readonly through?: boolean;
  /** Breadth of the walk that follows one that cannot be trusted, where it can be; 0 for none. */
  readonly broad?: number;
  /** What follows otherwise: a breadth, SCAN_CODES or SCAN_ROWS; 0 where each walk is trusted. */
  readonly last?: number;
}

const BY_ROWS: Way = { ef: 0, rerank: 0 };

/**
 * An index with a share of all rows that are searched walks as broad as the root of the share, down to this: with 2, 4
 * and 8 of them recall stays that of one (`load vectors partitions`).
 */
const SHARED_MIN = 16;
/**
 * Of the candidates of a walk of breadth ef this share, and these more, are scored by their rows, and at least this
 * many for each hit.
 */
const RERANK_SHARE = 0.75;
const RERANK_MIN = 8;
const RERANK_PER_HIT = 2;
/** A walk that cannot be trusted is followed by one as many times as broad. */
export const BROAD = 4;
/** A walk takes at most so many nanoseconds for each one of ef, a scan so many for a row and for each of its numbers. */
const WALK_NS = 2000;
const ROW_NS = 8;
const NUMBER_NS = 1 / 6;
/** A scan of the rows follows a walk that cannot be trusted where it takes no longer. */
const LAST_NS = 2_000_000;
/** A scan of the codes takes as long as a walk where there are so many of them for each one of ef. */
const CODES_PER_EF = 64;
/** Rows of so few matches are scanned: exact, and as fast as their codes with what is scored again. */
const ROWS_SCANNED = 2048;
/** Of so many codes a scan takes two milliseconds; beyond, a broad walk follows one that cannot be trusted. */
export const CODES_SCANNED = 250_000;
const LAST_BREADTH = 1024;
/** Scans of codes for more hits would sort too much. */
const CODES_K_MAX = 256;
/** Where fewer rows match, a walk through all meets too few of them. */
const THROUGH_SHARE = 0.25;
/** So much broader is that walk than the share alone asks for. */
const THROUGH_BREADTH = 1.25;
/** A walk by admitted nodes alone is as many times as broad as one without a filter. */
const ADMITTED_BREADTH = 4;

/**
 * What the parameters of a search mean for an index. `k`: how many of it are wanted; `end`: ordinals of the filter that
 * has been set, or NONE.
 */
export function planOf(
  instance: Instance,
  root: number,
  k: number,
  { ef, exact }: SearchParams,
  share: number,
  end: number,
): Way {
  if (exact) return BY_ROWS;
  if (end !== NONE) return filteredWayOf(instance, root, k, end, ef);
  return ef === undefined ? wayOf(instance, root, k, share) : walkOf(ef, k);
}

/** For the `k` best of all rows that are searched, of which the index at `root` has `share`. */
export function wayOf(instance: Instance, root: number, k: number, share: number): Way {
  if (!isChecked(instance, root)) return BY_ROWS;
  const narrowest = instance.word(root + ROOT_EF);
  if (narrowest === SCAN_CODES) return k <= CODES_K_MAX ? scanFor(k) : BY_ROWS;
  const ef = Math.max(SHARED_MIN, Math.ceil(narrowest * Math.sqrt(share)), 2 * hitsIn(k, share));
  const linked = instance.word(root + ROOT_WATERMARK);
  return scanNs(instance, root, linked) < WALK_NS * ef ? BY_ROWS : walk(instance, root, ef, k, linked);
}

/** The same under the filter of `end` ordinals that has been set. `least`: the breadth that is asked for at least. */
function filteredWayOf(instance: Instance, root: number, k: number, end: number, least = 0): Way {
  const linked = instance.word(root + ROOT_WATERMARK);
  const rows = instance.calls.countAllowed(instance.scratch, Math.min(end, linked));
  if (rows <= Math.max(ROWS_SCANNED, 4 * k) || !isChecked(instance, root)) return BY_ROWS;
  const byCodes = instance.word(root + ROOT_CODES) !== 0 && k <= CODES_K_MAX;
  const narrowest = Math.max(instance.word(root + ROOT_EF), least);
  if (narrowest === SCAN_CODES) return byCodes ? scanFor(k) : BY_ROWS;
  const share = rows / linked;
  const isThrough = share >= THROUGH_SHARE;
  const ef = isThrough
    ? Math.ceil((THROUGH_BREADTH * Math.max(narrowest, 2 * k)) / share)
    : Math.max(ADMITTED_BREADTH * narrowest, 2 * k);
  if (byCodes && rows <= (isThrough ? CODES_PER_EF * ef : CODES_SCANNED / 2)) return scanFor(k);
  if (scanNs(instance, root, rows) < WALK_NS * ef) return BY_ROWS;
  return { ...walk(instance, root, ef, k, rows), broad: 0, through: isThrough };
}

/** A walk whose breadth was asked for: nothing follows it. */
export const walkOf = (ef: number, k: number): Way => ({ ef: Math.max(ef, k), rerank: rerankOf(ef, k) });

export const scanFor = (k: number): Way => ({ ef: SCAN_CODES, rerank: Math.max(SCAN_RERANK, 4 * k) });

/** `rows` are those that may be answered. */
const walk = (instance: Instance, root: number, ef: number, k: number, rows: number): Way => ({
  ef,
  rerank: rerankOf(ef, k),
  broad: BROAD * ef,
  last: lastOf(instance, root, ef, k, rows),
});

function lastOf(instance: Instance, root: number, ef: number, k: number, rows: number): number {
  if (scanNs(instance, root, rows) <= LAST_NS / 4) return SCAN_ROWS;
  if (instance.word(root + ROOT_CODES) !== 0 && k <= CODES_K_MAX && rows <= CODES_SCANNED) return SCAN_CODES;
  return scanNs(instance, root, rows) <= LAST_NS ? SCAN_ROWS : Math.max(LAST_BREADTH, BROAD * ef);
}

const scanNs = (instance: Instance, root: number, rows: number): number =>
  rows * (ROW_NS + NUMBER_NS * instance.word(root + ROOT_DIM));

/** Until the first check of its recall has ended, nobody knows what walks find. */
const isChecked = (instance: Instance, root: number): boolean => instance.word(root + ROOT_CHECKED) !== 0;

const rerankOf = (ef: number, k: number): number =>
  Math.max(RERANK_PER_HIT * k, Math.ceil(RERANK_SHARE * ef) + RERANK_MIN);

/** Hits, best first, equal scores by ordinal. Copies: they stay as they are whatever is written later. */
export interface Hits {
  readonly count: number;
  readonly ordinals: Uint32Array;
  /** The version of the row each hit saw: compare with `stampOf` to know whether the ordinal still holds it. */
  readonly stamps: Uint32Array;
  /** Cosines, in [-1, 1]. */
  readonly scores: Float32Array;
}

/** The first `count` hits. */
export function firstHits({ ordinals, stamps, scores }: Hits, count: number): Hits {
  return {
    count,
    ordinals: ordinals.subarray(0, count),
    stamps: stamps.subarray(0, count),
    scores: scores.subarray(0, count),
  };
}

/** The hits that a search for `k` left in the output of an instance. */
export function readHits(instance: Instance, k: number, count: number): Hits {
  const { output } = instance;
  return {
    count,
    ordinals: instance.copyWords(output, count),
    stamps: instance.copyWords(output + 4 * k, count),
    scores: instance.copyFloats(output + 8 * k, count),
  };
}
