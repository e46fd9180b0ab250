// Finds the passage of a chunk that fits a query best and marks the matches in it, for `highlight` in a search. It
// reads words as they are written and compares them as the ranking does (terms.ts). Pure functions.
import type { Language } from '../api/choices.js';
import type { Highlight } from '../api/search.js';
import { termOfWord } from './stemming.js';
import { MARK } from './terms.js';
import { UNSPACED, tokensOf } from './tokenize.js';

/** A range [start, end) in characters (Unicode code points). */
interface Span {
  readonly start: number;
  readonly end: number;
}

interface Match extends Span {
  /** The query term that matched. */
  readonly term: string;
}

/**
 * The consecutive matches within `room` characters that are worth most; each term counts once, by its weight. Among
 * equals, more matches are better, and then earlier ones.
 */
function densest(matches: readonly Match[], weightOf: (term: string) => number, room: number): readonly Match[] {
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

/** Sums with a smaller difference count as equal. */
const ROUNDING = 1e-9;

function count(counts: Map<string, number>, term: string, by: number): number {
  const sum = (counts.get(term) ?? 0) + by;
  counts.set(term, sum);
  return sum;
}

/**
 * A passage of at most `room` characters with `core` in its middle, cut between words where possible and without white
 * space at its ends. `words` are the words of the text.
 */
function passageAround(characters: readonly string[], words: readonly Span[], core: Span, room: number): Span {
  const slack = Math.max(0, room - (core.end - core.start));
  const earliest = Math.min(core.start - (slack >> 1), characters.length - room);
  const start = earliest <= 0 ? 0 : (words.find((word) => word.start >= earliest)?.start ?? earliest);
  const latest = Math.min(characters.length, start + room);
  const end = latest === characters.length ? latest : endBy(characters, words, start, latest);
  return trimmed(characters, { start, end });
}

/** The end of the last word that ends by `latest`, with the punctuation attached to it. */
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

const PASSAGE_CHARACTERS = 240;
/** Symbols that normalize to words, such as № ™ ㎏ ⓐ. */
const SIGNS = '\\u2100-\\u214f\\u249c-\\u24e9\\u3200-\\u33ff\\u{1f100}-\\u{1f1ad}';
/** Matches a word as it is written. Voicing marks after a kana are part of the word. */
const WRITTEN = new RegExp(
  `[${UNSPACED}][\\u3099\\u309a\\uff9e\\uff9f]*|(?:(?![${UNSPACED}])[\\p{L}\\p{N}\\p{M}${SIGNS}])+`,
  'gu',
);

interface Word extends Span {
  readonly tokens: readonly string[];
}

/**
 * The best passage of `text`, of up to `PASSAGE_CHARACTERS`. `terms` are `questionTerms` in `language`; `weights` has
 * the weight of each term if known, and terms weigh 1 otherwise. Without a match, the passage is the beginning of the
 * text.
 */
export function highlightOf(
  text: string,
  { terms, language, weights }: { terms: readonly string[]; language: Language; weights?: readonly number[] },
): Highlight {
  const characters = [...text];
  const words = writtenWords(text);
  const weighed = new Map(terms.map((term, i) => [term, weights?.[i] ?? 1]));
  const found = densest(matchesOf(words, weighed, language), (term) => weighed.get(term) as number, PASSAGE_CHARACTERS);
  const core = { start: found[0]?.start ?? 0, end: found.at(-1)?.end ?? 0 };
  const { start, end } = passageAround(characters, words, core, PASSAGE_CHARACTERS);
  const matches = found.map((match): [number, number] => [match.start - start, Math.min(match.end, end) - start]);
  return { text: characters.slice(start, end).join(''), offset: start, matches: joined(matches) };
}

function writtenWords(text: string): Word[] {
  let [unit, character] = [0, 0];
  const characterAt = (target: number): number => {
    for (; unit < target; unit++) if ((text.charCodeAt(unit) & 0xfc00) !== 0xdc00) character++;
    return character;
  };
  return Array.from(text.matchAll(WRITTEN), ({ 0: written, index }) => ({
    start: characterAt(index),
    end: characterAt(index + written.length),
    tokens: tokensOf(written),
  }));
}

function matchesOf(words: readonly Word[], terms: ReadonlyMap<string, number>, language: Language): Match[] {
  return words.flatMap((word, i) => {
    const term = askedBy(word, terms, language) ?? pairOf(words, i, terms);
    return term === undefined ? [] : [{ start: word.start, end: word.end, term }];
  });
}

/** The query term that matches a word: one of its tokens, or the stem of one. */
function askedBy({ tokens }: Word, terms: ReadonlyMap<string, number>, language: Language): string | undefined {
  for (const token of tokens) {
    const term = terms.has(token) ? token : termOfWord(token, language);
    if (term !== undefined && terms.has(term)) return term;
  }
  return undefined;
}

/**
 * The query term that is a pair of this character and a neighbour. Scripts without spaces are searched by pairs of
 * characters.
 */
function pairOf(words: readonly Word[], i: number, terms: ReadonlyMap<string, number>): string | undefined {
  const [before, word, after] = [words[i - 1], words[i] as Word, words[i + 1]];
  const pairs = [before?.end === word.start && joint(before, word), after?.start === word.end && joint(word, after)];
  return pairs.find((pair): pair is string => pair !== false && terms.has(pair));
}

const joint = (a: Word, b: Word): string => `${MARK}${a.tokens.join('')}${b.tokens.join('')}`;

/** Merges matches that touch. */
function joined(matches: readonly [number, number][]): [number, number][] {
  const whole: [number, number][] = [];
  for (const match of matches) {
    const last = whole.at(-1);
    if (last && last[1] >= match[0]) last[1] = match[1];
    else whole.push([...match]);
  }
  return whole;
}
