// Boundaries of paragraphs, sentences and words in a text of any script, by ICU (`Intl.Segmenter`, Unicode Standard
// Annex 29 with dictionaries for scripts without spaces). The segmenter copies its whole input for each boundary that
// it gives, so it is fed with bounded pieces. Pure functions; positions are UTF-16 code units.

/** A sentence without the white space around it. */
export interface Sentence {
  start: number;
  end: number;
  /** Whether a paragraph begins with it. */
  isParagraphStart: boolean;
}

// The locale is named because the default of the process depends on its environment. English has the rules that all
// languages but Greek share; Greek asks with a semicolon.
const SENTENCES = new Intl.Segmenter('en', { granularity: 'sentence' });
const GREEK_SENTENCES = new Intl.Segmenter('el', { granularity: 'sentence' });
const WORDS = new Intl.Segmenter('en', { granularity: 'word' });
const CHARACTERS = new Intl.Segmenter('en', { granularity: 'grapheme' });
const GREEK_WORD = /\p{Script=Greek}{3}/u;

/** Code units in which sentences are looked for: of the sizes from 256 to 65,536 those around 512 are the fastest. */
const PIECE_UNITS = 512;
/** Code units to which the piece grows for a sentence that does not end in it. Behind them its end is looked for anew. */
const PIECE_UNITS_MAX = 8 * PIECE_UNITS;
/** Code units behind a position by which the word around it is recognized. */
export const AHEAD_UNITS = 64;

const PARAGRAPH_END = /(?:\n[^\S\n]*\n|\r\r|[\u2029\f])\s*/g;

/**
 * The sentences of a text, in order; together they have every character that is not white space. `starts` are positions
 * at which a paragraph begins wherever lines end, such as those of headings, in ascending order. Paragraphs end at blank
 * lines. A line break ends a sentence, unless the line is broken in the middle of one. The time is linear.
 */
export function* sentencesOf(text: string, starts: readonly number[]): Generator<Sentence> {
  for (const [from, to] of paragraphsOf(text, starts)) {
    let isParagraphStart = true;
    for (const [start, end] of withinParagraph(text.slice(from, to))) {
      const sentence = trimmed(text, from + start, from + end);
      if (!sentence) continue;
      yield { ...sentence, isParagraphStart };
      isParagraphStart = false;
    }
  }
}

function* paragraphsOf(text: string, starts: readonly number[]): Generator<[from: number, to: number]> {
  let from = 0;
  let passed = 0;
  const ends = text.matchAll(PARAGRAPH_END);
  for (let next = ends.next(); ; next = ends.next()) {
    const to = next.done ? text.length : next.value.index + next.value[0].length;
    for (; passed < starts.length && starts[passed]! < to; passed++) {
      if (starts[passed]! > from) yield [from, starts[passed]!];
      from = Math.max(from, starts[passed]!);
    }
    if (to > from) yield [from, to];
    if (next.done) return;
    from = to;
  }
}

/** The position of the sentence without white space at its ends; undefined if it has nothing else. */
function trimmed(text: string, start: number, end: number): Omit<Sentence, 'isParagraphStart'> | undefined {
  const raw = text.slice(start, end);
  const body = raw.trimStart();
  const from = end - body.length;
  const length = body.trimEnd().length;
  return length === 0 ? undefined : { start: from, end: from + length };
}

function* withinParagraph(paragraph: string): Generator<[start: number, end: number]> {
  const plain = withoutWraps(paragraph);
  let start = 0;
  let from = 0;
  let units = PIECE_UNITS;
  while (from < plain.length) {
    const stop = pieceEnd(plain, from + units);
    const ends = sentenceEnds(plain.slice(from, stop));
    // The last sentence may go on behind the piece.
    if (stop < plain.length) ends.pop();
    if (ends.length > 0) {
      for (const end of ends) {
        yield [start, from + end];
        start = from + end;
      }
      from = start;
      units = PIECE_UNITS;
    } else if (units < PIECE_UNITS_MAX) units *= 2;
    else from += lastBreak(plain.slice(from, stop + AHEAD_UNITS), stop - from);
  }
}

/** Not between the halves of a character, nor of a line break. */
const pieceEnd = (text: string, end: number): number =>
  end < text.length && isInsidePair(text, end) ? end + 1 : Math.min(end, text.length);

const isInsidePair = (text: string, at: number): boolean =>
  /^[\ud800-\udbff][\udc00-\udfff]/.test(text.slice(at - 1, at + 1));

/**
 * Line breaks in the middle of a sentence: before a small letter, and of lines that are as long as those of text broken
 * at a width, before any letter. They become spaces, with the same length, so that they end no sentence.
 */
const WRAP = /(?<=[^\s])(\r?\n)(?=[^\S\n]*\p{Ll})|(?<=[^\n]{50}\S)(\r?\n)(?=[^\S\n]*\p{L})/gu;
const withoutWraps = (text: string): string =>
  text.includes('\n') ? text.replace(WRAP, (lineBreak) => ' '.repeat(lineBreak.length)) : text;

/** A period behind these ends no sentence: initials, numbers of items, and titles that stand before names. */
const NO_END =
  /(?:^|[\s(.])(?:\p{L}|\d{1,3}|Mr|Mrs|Ms|Dr|Prof|St|Fig|Figs|Eq|No|Nr|vs|cf|Abb|Hr|Mme|Sr|Sra|Dra|Sig|Dott|Ing)\.\s*$/u;
/** Of a name before the period, with what stands before it. */
const NO_END_UNITS = 16;
/** Brackets and quotation marks that open belong to the next sentence. */
const OPENING = /[\p{Ps}\p{Pi}]+$/u;

/** The ends of the sentences of a piece, in ascending order; the last one is its length. */
function sentenceEnds(piece: string): number[] {
  const ends: number[] = [];
  for (const { index, segment } of (GREEK_WORD.test(piece) ? GREEK_SENTENCES : SENTENCES).segment(piece)) {
    const end = index + segment.length;
    if (end === piece.length) ends.push(end);
    else if (segment.endsWith('\n') || !NO_END.test(piece.slice(Math.max(0, end - NO_END_UNITS), end))) {
      const opening = OPENING.exec(segment)?.[0].length ?? 0;
      if (opening < segment.length) ends.push(end - opening);
    }
  }
  return ends;
}

const BLANK = /\s/;
/** What closes or separates stays with the word before it. */
const CLOSING = /^[\p{Pe}\p{Pf}\p{Po}\p{M}]/u;
/** Words that are tried before a break in front of such a character is accepted. */
const TRIES_MAX = 8;

/**
 * The last position up to `limit`, and above 0, at which a text can be cut: at white space if there is some in the
 * second half, otherwise between words; within a word that goes on from the beginning to beyond the limit, between
 * characters as they are seen. The text should go on for `AHEAD_UNITS` behind the limit, where it has that many.
 */
export function lastBreak(text: string, limit: number): number {
  if (text.length <= limit || BLANK.test(text[limit]!)) return limit;
  let blank = limit;
  while (blank > 0 && !BLANK.test(text[blank - 1]!)) blank--;
  if (blank > limit / 2) return blank;
  const seen = wordBreak(text, limit) || blank || lettersStart(text, limit) || startOf(CHARACTERS, text, limit);
  return seen || (isInsidePair(text, limit) ? limit - 1 : limit);
}

/** The start of the last word that begins up to `limit`, in front of no closing character; 0 if there is none. */
function wordBreak(text: string, limit: number): number {
  let at = startOf(WORDS, text, limit);
  for (let tries = 0; at > 0 && tries < TRIES_MAX; tries++) {
    if (!CLOSING.test(text.slice(at, at + 2))) return at;
    at = startOf(WORDS, text, at - 1);
  }
  return at > 0 ? at : startOf(WORDS, text, limit);
}

const LETTER = /^[\p{L}\p{N}\p{M}]/u;

/** The start of the letters and digits around a position: `a.b.c` is one word, which may be longer than a chunk. */
function lettersStart(text: string, limit: number): number {
  let at = limit;
  while (at > 0 && (isInsidePair(text, at) || LETTER.test(text.slice(at, at + 2)))) at--;
  return at === 0 || at === limit ? at : at + (isInsidePair(text, at + 1) ? 2 : 1);
}

const startOf = (segmenter: Intl.Segmenter, text: string, at: number): number =>
  segmenter.segment(text).containing(at)?.index ?? 0;
