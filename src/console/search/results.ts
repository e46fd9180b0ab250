// Comparison of two lists of hits: common hits, and how far each has moved. Pure.
import type { SearchTiming } from '../../api/search.js';

interface RankDiff {
  /** Rank in the other list by id, from 1; ids that the other list lacks are absent. */
  readonly otherRank: ReadonlyMap<string, number>;
  /** Common ids as a share of the longer list; 1 if both lists are empty. */
  readonly overlap: number;
  /** Mean difference of the ranks of common ids; null if there are none. */
  readonly shift: number | null;
}

/** How a displayed list relates to another list. */
export interface Against {
  /** The difference as seen from the displayed list. */
  readonly diff: RankDiff;
  /** Names of the first and second list, such as `in A` and `in B`. */
  readonly places: readonly [string, string];
  /** Whether the displayed list is the first one. */
  readonly isFirst: boolean;
}

interface Move {
  readonly kind: 'new' | 'same' | 'up' | 'down';
  readonly words: string;
  /** Text for screen readers. */
  readonly label: string;
}

/** How a hit moves from the first list to the second; the same beside either list. */
export function moveOf(id: string, rank: number, { diff, places, isFirst }: Against): Move {
  const other = diff.otherRank.get(id);
  if (other === undefined)
    return { kind: 'new', words: `only ${places[isFirst ? 0 : 1]}`, label: `only ${places[isFirst ? 0 : 1]}` };
  const [from, to] = isFirst ? [rank, other] : [other, rank];
  const [kind, moved] =
    from === to
      ? (['same', 'same rank'] as const)
      : from > to
        ? (['up', `up ${from - to}`] as const)
        : (['down', `down ${to - from}`] as const);
  return {
    kind,
    words: kind === 'same' ? moved : `${from} → ${to}, ${moved}`,
    label: `rank ${from} ${places[0]}, ${to} ${places[1]}: ${moved}`,
  };
}

/** Compares lists as seen from `own`. For a repeated id, the first occurrence counts. */
export function rankDiff(own: readonly string[], other: readonly string[]): RankDiff {
  const ranks = ranksOf(other);
  const mine = ranksOf(own);
  const shared = [...mine].filter(([id]) => ranks.has(id));
  const distance = shared.reduce((sum, [id, rank]) => sum + Math.abs(rank - (ranks.get(id) as number)), 0);
  const longer = Math.max(mine.size, ranks.size);
  return {
    otherRank: new Map(shared.map(([id]) => [id, ranks.get(id) as number])),
    overlap: longer === 0 ? 1 : shared.length / longer,
    shift: shared.length === 0 ? null : distance / shared.length,
  };
}

function ranksOf(ids: readonly string[]): Map<string, number> {
  const ranks = new Map<string, number>();
  for (const [i, id] of ids.entries()) if (!ranks.has(id)) ranks.set(id, i + 1);
  return ranks;
}

// The time of a search as bars on one axis: the server's phases in sequence, and the round trip. Pure.

interface Bar {
  readonly name: string;
  /** Milliseconds from the start. */
  readonly start: number;
  readonly length: number;
  /** Whether the bar is a part of the bar before it. */
  readonly isPart?: true;
}

/**
 * `serverMs` is the total time on the server, `roundMs` the time until the page had the answer. Time that no phase
 * accounts for is `other`.
 */
export function barsOf(timing: SearchTiming | undefined, serverMs: number, roundMs: number): Bar[] {
  const bars: Bar[] = [];
  let at = Math.max(0, (roundMs - serverMs) / 2);
  const add = (
    name: string,
    length: number | undefined,
    parts: readonly (readonly [string, number | undefined])[] = [],
  ): void => {
    if (length === undefined || length <= 0) return;
    bars.push({ name, start: at, length });
    for (const [part, ms] of parts)
      if (ms) bars.push({ name: part, start: at, length: Math.min(ms, length), isPart: true });
    at += length;
  };
  add('embed', timing?.embed_ms);
  add('filter', timing?.filter_ms);
  add('search', timing?.search_ms, [
    ['by vector', timing?.vector_search_ms],
    ['by words', timing?.lexical_search_ms],
  ]);
  add('rerank', timing?.rerank_ms);
  add('hydrate', timing?.hydrate_ms);
  add('other', serverMs - bars.filter(({ isPart }) => !isPart).reduce((sum, { length }) => sum + length, 0));
  return [{ name: 'round trip', start: 0, length: roundMs }, ...bars];
}
