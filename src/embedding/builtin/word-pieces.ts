// Tokenization of the built-in embedder. Word boundaries are determined twice: as BERT (uncased) does, for the token
// half, and as runs of letters, digits and underscores, for the hashed half. WordPiece then covers a word by the
// longest vocabulary entries from left to right, or by [UNK] (Schuster and Nakajima, "Japanese and Korean voice
// search", 2012, in the variant of BERT). Pure.
//
// Unicode classes are those of the running Node. The `tokenizers` library has older tables: 927 code points that were
// added or reclassified since Unicode 8 are classified differently (checked individually, with tokenizers 0.23.3 and
// Node 20).

const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;
/** Control, format, private-use and unpaired surrogate characters, except the three controls that count as spaces. */
const DROPPED = /(?![\t\n\r])[\ufffd\p{Cc}\p{Cf}\p{Co}\p{Cs}]/gu;
const SPACES = /[\s\p{Z}]/gu;
/** The ideograph blocks that BERT separates, so that each character is a word; kana and hangul are not among them. */
const IDEOGRAPHS =
  /[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2ceaf}\u{2f800}-\u{2fa1f}]/gu;
const NON_ASCII = /[^\0-\x7f]/gu;
const ACCENTS = /\p{Mn}/gu;
/** One punctuation character (including all ASCII symbols), or a run without punctuation and spaces. */
const BERT_WORDS = /[!-/:-@[-`{-~\p{P}]|[^ !-/:-@[-`{-~\p{P}]+/gu;
const PLAIN_WORDS = /[\p{L}\p{N}_]+/gu;

const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const UNDERSCORE = 0x5f;
const TILDE = 0x7e;

/**
 * The words of `text` as BERT's normalizer and pre-tokenizer produce them: lower case, no accents, punctuation
 * separate.
 */
export function bertWords(text: string): readonly string[] {
  const normal = PRINTABLE_ASCII.test(text) ? text.toLowerCase() : normalize(text);
  return normal.match(BERT_WORDS) ?? [];
}

/** Runs of letters, digits and underscores of the lower-cased `text`, with accents. */
export function plainWords(text: string): readonly string[] {
  return text.toLowerCase().match(PLAIN_WORDS) ?? [];
}

function normalize(text: string): string {
  const spaced = text.replace(DROPPED, '').replace(SPACES, ' ').replace(IDEOGRAPHS, ' $& ');
  // Character by character, because normalizing a long run of combining marks at once takes quadratic time.
  const bare = spaced.replace(NON_ASCII, (character) => character.normalize('NFD')).replace(ACCENTS, '');
  // BERT lower-cases characters individually and so never produces a final sigma, unlike `toLowerCase` of a string.
  return bare.replaceAll('Σ', 'σ').toLowerCase();
}

/**
 * Splits `text` where neither tokenization depends on context: at common spaces, and in printable ASCII around each
 * punctuation character. So the concatenated `bertWords` (or `plainWords`) of the terms are those of the text.
 */
export function forEachTerm(text: string, visit: (term: string) => void): void {
  let start = 0;
  let isPlain = true;
  for (let at = 0; at <= text.length; at++) {
    const unit = at < text.length ? text.charCodeAt(at) : SPACE;
    if (unit === SPACE || unit === LINE_FEED || unit === TAB || unit === CARRIAGE_RETURN) {
      if (isPlain) forEachAsciiTerm(text, start, at, visit);
      else visit(text.slice(start, at));
      start = at + 1;
      isPlain = true;
    } else if (unit < SPACE || unit > TILDE) {
      isPlain = false;
    }
  }
}

function forEachAsciiTerm(text: string, from: number, to: number, visit: (term: string) => void): void {
  let start = from;
  for (let at = from; at < to; at++) {
    if (isAsciiWordUnit(text.charCodeAt(at))) continue;
    if (at > start) visit(text.slice(start, at));
    visit(text.charAt(at));
    start = at + 1;
  }
  if (to > start) visit(text.slice(start, to));
}

function isAsciiWordUnit(unit: number): boolean {
  return (
    (unit >= 0x61 && unit <= 0x7a) ||
    (unit >= 0x41 && unit <= 0x5a) ||
    (unit >= 0x30 && unit <= 0x39) ||
    unit === UNDERSCORE
  );
}

const UNKNOWN = '[UNK]';
const CONTINUATION = '##';
/** BERT's limit: longer words are unknown. */
const WORD_CHARACTERS_MAX = 100;

/** Encodes a text as piece ids, without [CLS] and [SEP]. A text that spells such a marker gets ordinary pieces. */
type PieceEncoder = (text: string) => readonly number[];

export function createPieceEncoder(vocabulary: readonly string[]): PieceEncoder {
  const heads = new Map<string, number>();
  const tails = new Map<string, number>();
  let pieceLengthMax = 0;
  vocabulary.forEach((entry, id) => {
    if (entry.startsWith(CONTINUATION)) tails.set(entry.slice(CONTINUATION.length), id);
    else heads.set(entry, id);
    pieceLengthMax = Math.max(pieceLengthMax, entry.length);
  });
  const unknown = heads.get(UNKNOWN) ?? 0;

  /**
   * Appends the pieces of `word` to `ids`. Returns false, and appends nothing, if the vocabulary cannot cover the word.
   */
  const cover = (word: string, ids: number[]): boolean => {
    const lengthBefore = ids.length;
    for (let start = 0; start < word.length; ) {
      const entries = start === 0 ? heads : tails;
      let end = Math.min(word.length, start + pieceLengthMax);
      let id = entries.get(word.slice(start, end));
      while (id === undefined && --end > start) id = entries.get(word.slice(start, end));
      if (id === undefined) {
        ids.length = lengthBefore;
        return false;
      }
      ids.push(id);
      start = end;
    }
    return true;
  };

  return (text) => {
    const ids: number[] = [];
    for (const word of bertWords(text)) {
      if (isTooLong(word) || !cover(word, ids)) ids.push(unknown);
    }
    return ids;
  };
}

function isTooLong(word: string): boolean {
  // A character has one or two UTF-16 units, so characters are counted only in the range between the two bounds.
  if (word.length <= WORD_CHARACTERS_MAX) return false;
  return word.length > 2 * WORD_CHARACTERS_MAX || [...word].length > WORD_CHARACTERS_MAX;
}
