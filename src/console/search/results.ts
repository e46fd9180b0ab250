// Two lists of hits beside each other: which both have, and how far each has moved.
// Pure; for comparisons and replays.
import type { SearchTiming } from '../../api/search.js';

interface RankDiff {
  /** By id: the rank in the other list, from 1; absent where the other has it not. */
  readonly otherRank: ReadonlyMap<string, number>;
  /** Share of the ids of the longer list that both have; 1 of two empty ones. */
  readonly overlap: number;
  /** Mean distance of the ranks of those that both have; null where there are none. */
  readonly shift: number | null;
}

/** A list of hits that stands beside another: which of the two it is, and how each is called. */
export interface Against {
  /** As seen from the list that is shown. */
  readonly diff: RankDiff;
  /** Such as `in A`, `in B`: that from which is counted, and that to which. */
  readonly places: readonly [string, string];
  /** Whether the first of them is shown. */
  readonly isFirst: boolean;
}

interface Move {
  readonly kind: 'new' | 'same' | 'up' | 'down';
  readonly words: string;
  /** What a reader of the screen says. */
  readonly label: string;
}

/** How a hit moves from the first list to the second, told alike beside either. */
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

/** As seen from `own`. An id that comes twice counts where it comes first. */
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

// The time of a search as bars on one axis: what the server was at, one after the other, and what the way there and
// back took. Pure.

interface Bar {
  readonly name: string;
  /** ms from the beginning. */
  readonly start: number;
  readonly length: number;
  /** Within the bar before it. */
  readonly isPart?: true;
}

/** `serverMs` is the whole time there, `roundMs` that until the page had the answer. What no phase tells is `other`. */
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
