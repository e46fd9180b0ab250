// The best passage of a text: the one that has the most of what is looked for, each term counted once by its weight.
// Positions are in characters (Unicode code points). Pure; called by highlight.ts.

/** From `start` to before `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface Match extends Span {
  /** What it was found by. */
  readonly term: string;
}

/** The matches in a row that fit into `room` and are worth most; among equals those that are more, then the first. */
export function densest(matches: readonly Match[], weightOf: (term: string) => number, room: number): readonly Match[] {
  const counts = new Map<string, number>();
  let [from, worth] = [0, 0];
  let best = { from: 0, to: 0, worth: 0 };
  matches.forEach((match, at) => {
    if (count(counts, match.term, 1) === 1) worth += weightOf(match.term);
    for (; from < at && match.end - (matches[from] as Match).start > room; from++) {
      const { term } = matches[from] as Match;
      if (count(counts, term, -1) === 0) worth -= weightOf(term);
    }
    const gain = worth - best.worth;
    if (gain > ROUNDING || (gain > -ROUNDING && at + 1 - from > best.to - best.from))
      best = { from, to: at + 1, worth };
  });
  return matches.slice(best.from, best.to);
}

/** Sums that differ by no more are the same sum. */
const ROUNDING = 1e-9;

function count(counts: Map<string, number>, term: string, by: number): number {
  const sum = (counts.get(term) ?? 0) + by;
  counts.set(term, sum);
  return sum;
}

/**
 * At most `room` characters with `core` in the middle, as far as words stay whole and white space stays out. `words`
 * are those of the text.
 */
export function passageAround(characters: readonly string[], words: readonly Span[], core: Span, room: number): Span {
  const slack = Math.max(0, room - (core.end - core.start));
  const earliest = Math.min(core.start - (slack >> 1), characters.length - room);
  const start = earliest <= 0 ? 0 : (words.find((word) => word.start >= earliest)?.start ?? earliest);
  const latest = Math.min(characters.length, start + room);
  const end = latest === characters.length ? latest : endBy(characters, words, start, latest);
  return trimmed(characters, { start, end });
}

/** Behind the last word that ends by `latest`, and the signs that stand at it. */
function endBy(characters: readonly string[], words: readonly Span[], start: number, latest: number): number {
  const next = words.findIndex((word) => word.end > latest);
  const last = next < 0 ? words.at(-1) : words[next - 1];
  if (!last || last.end <= start) return latest;
  const until = Math.min(latest, words[next]?.start ?? latest);
  let { end } = last;
  while (end < until && !isSpace(characters[end])) end++;
  return end;
}

function trimmed(characters: readonly string[], { start, end }: Span): Span {
  while (start < end && isSpace(characters[start])) start++;
  while (end > start && isSpace(characters[end - 1])) end--;
  return { start, end };
}

const isSpace = (character: string | undefined): boolean => character !== undefined && /\s/u.test(character);
