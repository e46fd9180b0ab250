// What the characters of a text are to who cuts it into words, by their codes, and how they are written as UTF-8. Pure
// but for what it remembers. Used by term-writer.ts; tokenize.ts says what a word is.
import { UNSPACED } from './tokenize.js';

/** 0 is a character that has not been met. */
export const OTHER = 1;
export const OF_WORD = 2;
/** Half of a character, or of a script whose words are not set apart, with the mark that draws a kana out. */
export const UNFIT = 3;
const UNFIT_CHARACTER = new RegExp(`[${UNSPACED}ー\\p{Surrogate}]`, 'u');
const WORD_CHARACTER = /[\p{L}\p{N}\p{M}]/u;

export class CharacterKinds {
  private readonly kinds = new Uint8Array(0x10000);

  of(code: number): number {
    return this.kinds[code] || (this.kinds[code] = kindOf(String.fromCharCode(code)));
  }
}

const kindOf = (character: string): number =>
  UNFIT_CHARACTER.test(character) ? UNFIT : WORD_CHARACTER.test(character) ? OF_WORD : OTHER;

/** Whether a half of a character here is one of a sign that no word has, such as an emoji. */
export function isSign(text: string, at: number): boolean {
  const isLow = (text.charCodeAt(at) & 0xfc00) === 0xdc00;
  const character = String.fromCodePoint(text.codePointAt(isLow ? at - 1 : at) ?? 0);
  return character.length === 2 && !WORD_CHARACTER.test(character);
}

/** Writes a character of the basic plane beyond ASCII; answers the place behind it. */
export function putWide(out: Uint8Array, at: number, code: number): number {
  if (code < 0x800) {
    out[at] = 0xc0 | (code >> 6);
    out[at + 1] = 0x80 | (code & 0x3f);
    return at + 2;
  }
  out[at] = 0xe0 | (code >> 12);
  out[at + 1] = 0x80 | ((code >> 6) & 0x3f);
  out[at + 2] = 0x80 | (code & 0x3f);
  return at + 3;
}
