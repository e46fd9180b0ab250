// The time of a search as bars on one axis: what the server was at, one after the other, and what the way there and
// back took. Pure; drawn by search/waterfall.tsx.
import type { SearchTiming } from '../../contract/resources.js';

export interface Bar {
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
