// Defines tokens: a token is a Unicode word after NFKC, case folding and the removal of Latin diacritics. Content
// filters, mode boost and the text index use the same functions, so that they agree. Pure functions.

/** In scripts without spaces each character is a token, so a phrase matches a substring. */
export const UNSPACED = '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}';
const WORDS = new RegExp(`[${UNSPACED}]|(?:(?![${UNSPACED}])[\\p{L}\\p{N}\\p{M}])+`, 'gu');
const ASCII_WORDS = /[a-z0-9]+/g;
export const ASCII = /^[\x00-\x7f]*$/;
const LATIN_MARKS = /(\p{Script=Latin})\p{M}+/gu;
/** Letters with a stroke or a missing dot, which Unicode does not decompose. */
const STRUCK: Readonly<Record<string, string>> = { ø: 'o', ł: 'l', đ: 'd', ħ: 'h', ŧ: 't', ı: 'i' };
const STRUCK_LETTERS = /[øłđħŧı]/g;

/** The tokens of a text in their order, including repeats. */
export function tokensOf(text: string): string[] {
  return wordsOf(plainOf(text));
}

/** The plain form of a text, from which tokens are cut: compatibility forms, case and Latin diacritics are folded. */
export function plainOf(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase();
  return withoutLatinMarks(foldCase(text.normalize('NFKC')));
}

/** The tokens of a text in plain form. */
export function wordsOf(plain: string): string[] {
  return plain.match(ASCII.test(plain) ? ASCII_WORDS : WORDS) ?? [];
}

/** The first `max` distinct tokens of a text, in their order. */
export function distinctTokens(text: string, max: number): string[] {
  const distinct = new Set<string>();
  for (const token of tokensOf(text)) {
    if (distinct.size === max) break;
    distinct.add(token);
  }
  return [...distinct];
}

/** Folds case by way of upper case, so that ß becomes ss and the two small sigmas become one. */
export function foldCase(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase();
  return text.toUpperCase().toLowerCase().replaceAll('ς', 'σ');
}

function withoutLatinMarks(text: string): string {
  const plain = text.normalize('NFD').replace(LATIN_MARKS, '$1').normalize('NFC');
  return plain.replace(STRUCK_LETTERS, (letter) => STRUCK[letter] as string);
}
