// Chooses how an index is searched: by the search's own parameters, by a graph search with the `ef` that keeps recall
// (recall-tuner.ts), by a scan of the quantized vectors if few rows pass the filter or a graph search cannot be
// trusted, or by an exact scan of the rows if that is as fast or the index has not been checked yet. Any thread.
import type { SearchParams } from '../../api/search.js';
import { hitsIn } from '../../ranking/top-k.js';
import type { Instance } from '../memory/bindings.js';
import {
  NONE,
  ROOT_CHECKED,
  ROOT_DIM,
  ROOT_EF,
  ROOT_INDEXED_TO,
  ROOT_QUANTIZER,
  SCAN_QUANTIZED,
  SCAN_RERANK,
  SCAN_ROWS,
} from '../memory/layout.js';
import type { Bitmap } from '../filter/bitmap.js';

/** Which part of the searched rows an index holds, and which of its rows are allowed. */
export interface SearchScope {
  /**
   * The index's share of all rows that are searched; 1 if left out. When many indexes are searched for the best of all,
   * each needs a smaller `ef`.
   */
  readonly share?: number | undefined;
  /** The rows that pass the filter; all rows if left out. */
  readonly allowed?: Bitmap | undefined;
}

/** How the kernel searches (kernel/hnsw/search.ts). */
export interface Way {
  /** `ef` of the graph search; SCAN_QUANTIZED for a scan of the quantized vectors, 0 for a scan of the rows. */
  readonly ef: number;
  /** Number of candidates that are scored exactly by their rows. */
  readonly rerank: number;
  /** Whether the graph search passes through rows that the filter excludes. */
  readonly through?: boolean;
  /** `ef` of the second graph search if the first cannot be trusted; 0 for none. */
  readonly broad?: number;
  /**
   * What follows if that cannot be trusted either: an `ef`, SCAN_QUANTIZED or SCAN_ROWS; 0 if every graph search is
   * trusted.
   */
  readonly last?: number;
}

const BY_ROWS: Way = { ef: 0, rerank: 0 };

/**
 * Least `ef` of an index that holds a share of the rows. Its `ef` shrinks with the square root of the share: with 2, 4
 * and 8 indexes recall stays that of one (measured by `load vectors partitions`).
 */
const SHARED_MIN = 16;
/**
 * Number of candidates of a graph search that are scored exactly: this share of `ef` plus RERANK_MIN, and at least
 * RERANK_PER_HIT for each hit.
 */
const RERANK_SHARE = 0.75;
const RERANK_MIN = 8;
const RERANK_PER_HIT = 2;
/** How many times `ef` grows in the second graph search, which follows one that cannot be trusted. */
export const BROAD = 4;
/**
 * Cost estimates in nanoseconds: a graph search at most per unit of `ef`, a scan per row and per dimension of a row.
 */
const GRAPH_SEARCH_NS = 2000;
const ROW_NS = 8;
const NUMBER_NS = 1 / 6;
/** An exact scan follows an untrusted graph search if it takes at most this long, in nanoseconds. */
const LAST_NS = 2_000_000;
/** Quantized vectors per unit of `ef` at which a scan of them takes as long as a graph search. */
const QUANTIZED_PER_EF = 64;
/**
 * If at most this many rows pass the filter, they are scanned: that is exact, and as fast as scanning their quantized
 * vectors and reranking.
 */
const ROWS_SCANNED = 2048;
/**
 * A scan of this many quantized vectors takes two milliseconds. Beyond it, a graph search with a larger `ef` follows
 * one that cannot be trusted.
 */
export const QUANTIZED_SCANNED = 250_000;
const LAST_EF = 1024;
/** Largest `k` of a scan of quantized vectors; more candidates would cost too much sorting. */
const QUANTIZED_K_MAX = 256;
/** If a smaller share of the rows passes the filter, a graph search through all rows meets too few of them. */
const THROUGH_SHARE = 0.25;
/** Factor on the `ef` of such a graph search, in addition to the share of rows that pass. */
const THROUGH_EF = 1.25;
/** Factor on the `ef` of a graph search through allowed rows only. */
const ADMITTED_EF = 4;

/**
 * The way to search an index with the given parameters. `k`: number of hits wanted from this index; `end`: number of
 * ordinals in the filter that has been set, or NONE.
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
  return ef === undefined ? wayOf(instance, root, k, share) : graphSearchOf(ef, k);
}

/** The way to find the `k` best of all searched rows, of which the index at `root` holds `share`. */
export function wayOf(instance: Instance, root: number, k: number, share: number): Way {
  if (!isChecked(instance, root)) return BY_ROWS;
  const narrowest = instance.word(root + ROOT_EF);
  if (narrowest === SCAN_QUANTIZED) return k <= QUANTIZED_K_MAX ? scanFor(k) : BY_ROWS;
  const ef = Math.max(SHARED_MIN, Math.ceil(narrowest * Math.sqrt(share)), 2 * hitsIn(k, share));
  const indexed = instance.word(root + ROOT_INDEXED_TO);
  return scanNs(instance, root, indexed) < GRAPH_SEARCH_NS * ef ? BY_ROWS : graphSearch(instance, root, ef, k, indexed);
}

/** The same under the filter of `end` ordinals that has been set. `least`: lower bound of `ef`. */
function filteredWayOf(instance: Instance, root: number, k: number, end: number, least = 0): Way {
  const indexed = instance.word(root + ROOT_INDEXED_TO);
  const rows = instance.calls.countAllowed(instance.scratch, Math.min(end, indexed));
  if (rows <= Math.max(ROWS_SCANNED, 4 * k) || !isChecked(instance, root)) return BY_ROWS;
  const byQuantized = instance.word(root + ROOT_QUANTIZER) !== 0 && k <= QUANTIZED_K_MAX;
  const narrowest = Math.max(instance.word(root + ROOT_EF), least);
  if (narrowest === SCAN_QUANTIZED) return byQuantized ? scanFor(k) : BY_ROWS;
  const share = rows / indexed;
  const isThrough = share >= THROUGH_SHARE;
  const ef = isThrough
    ? Math.ceil((THROUGH_EF * Math.max(narrowest, 2 * k)) / share)
    : Math.max(ADMITTED_EF * narrowest, 2 * k);
  if (byQuantized && rows <= (isThrough ? QUANTIZED_PER_EF * ef : QUANTIZED_SCANNED / 2)) return scanFor(k);
  if (scanNs(instance, root, rows) < GRAPH_SEARCH_NS * ef) return BY_ROWS;
  return { ...graphSearch(instance, root, ef, k, rows), broad: 0, through: isThrough };
}

/** A graph search with a given `ef`, which nothing follows. */
export const graphSearchOf = (ef: number, k: number): Way => ({ ef: Math.max(ef, k), rerank: rerankOf(ef, k) });

/** A scan of the quantized vectors for `k` hits. */
export const scanFor = (k: number): Way => ({ ef: SCAN_QUANTIZED, rerank: Math.max(SCAN_RERANK, 4 * k) });

/** `rows`: number of rows that pass the filter. */
const graphSearch = (instance: Instance, root: number, ef: number, k: number, rows: number): Way => ({
  ef,
  rerank: rerankOf(ef, k),
  broad: BROAD * ef,
  last: lastOf(instance, root, ef, k, rows),
});

function lastOf(instance: Instance, root: number, ef: number, k: number, rows: number): number {
  if (scanNs(instance, root, rows) <= LAST_NS / 4) return SCAN_ROWS;
  if (instance.word(root + ROOT_QUANTIZER) !== 0 && k <= QUANTIZED_K_MAX && rows <= QUANTIZED_SCANNED)
    return SCAN_QUANTIZED;
  return scanNs(instance, root, rows) <= LAST_NS ? SCAN_ROWS : Math.max(LAST_EF, BROAD * ef);
}

const scanNs = (instance: Instance, root: number, rows: number): number =>
  rows * (ROW_NS + NUMBER_NS * instance.word(root + ROOT_DIM));

/** Before the first check has ended, the recall of graph searches is unknown. */
const isChecked = (instance: Instance, root: number): boolean => instance.word(root + ROOT_CHECKED) !== 0;

const rerankOf = (ef: number, k: number): number =>
  Math.max(RERANK_PER_HIT * k, Math.ceil(RERANK_SHARE * ef) + RERANK_MIN);

/** Hits, best first, equal scores by ordinal. The arrays are copies that later writes do not change. */
export interface Hits {
  readonly count: number;
  readonly ordinals: Uint32Array;
  /**
   * The row version that each hit saw. If `rowVersionOf` returns another value, the ordinal no longer holds that row.
   */
  readonly rowVersions: Uint32Array;
  /** Cosines in [-1, 1]. */
  readonly scores: Float32Array;
}

/** The first `count` hits. */
export function firstHits({ ordinals, rowVersions, scores }: Hits, count: number): Hits {
  return {
    count,
    ordinals: ordinals.subarray(0, count),
    rowVersions: rowVersions.subarray(0, count),
    scores: scores.subarray(0, count),
  };
}

/** Copies the hits that a search for `k` left in the output of an instance. */
export function readHits(instance: Instance, k: number, count: number): Hits {
  const { output } = instance;
  return {
    count,
    ordinals: instance.copyWords(output, count),
    rowVersions: instance.copyWords(output + 4 * k, count),
    scores: instance.copyFloats(output + 8 * k, count),
  };
}
