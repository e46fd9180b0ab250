// How a part's metadata is written as terms of an index: `field \u0001 section value`, so that the byte order of the
// terms of one section is the order of the values. Pure. Used by what makes the terms (field-terms.ts) and by what
// looks for them (field-lookups.ts).
import { hash } from 'node:crypto';

/**
 * Kinds of terms: b booleans, d strings that are decimal forms as numbers, e the field is there, i strings that are ISO
 * times, l a string too long to stand here whole, n numbers, s all other strings, t ISO times as milliseconds, z null.
 */
export type Section = 'b' | 'd' | 'e' | 'i' | 'l' | 'n' | 's' | 't' | 'z';

const SEPARATOR = '\u0001';
/** A chunk that has it has no other term: it has to be looked at itself. No field and section make it. */
export const UNLISTED = `${SEPARATOR}U`;

/** Longer strings stand with their beginning and a digest. */
const TEXT_CHARACTERS_MAX = 200;
const DIGEST_MARK = `${SEPARATOR}\u0003`;

export const sectionOf = (field: string, section: Section): string => escaped(field) + SEPARATOR + section;

export const isLong = (text: string): boolean => text.length > TEXT_CHARACTERS_MAX;

/** No zero character is left, nor a separator that means nothing else; the order of code points stays. */
function escaped(text: string): string {
  return /[\0\u0001]/.test(text)
    ? text.replace(/[\0\u0001]/g, (character) => (character === '\0' ? '\u0001\u0001' : '\u0001\u0002'))
    : text;
}

/**
 * A string as the value of a term. Of a long one the beginning is enough to order it among all that are not; the digest
 * tells it from all others.
 */
export function textValue(text: string): string {
  if (!isLong(text)) return escaped(text);
  const isInPair = (text.charCodeAt(TEXT_CHARACTERS_MAX - 1) & 0xfc00) === 0xd800;
  const beginning = text.slice(0, TEXT_CHARACTERS_MAX + (isInPair ? 1 : 0));
  return escaped(beginning) + DIGEST_MARK + hash('sha256', text).slice(0, 32);
}

/**
 * Digits whose order is that of the numbers: the bits of the double, turned round for negative ones, less the zeros at
 * the end.
 */
export function numberValue(value: number): string {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeDoubleBE(value + 0); // -0 is 0.
  const mask = (bytes[0] as number) >= 0x80 ? 0xff : 0;
  for (let i = 0; i < 8; i++) bytes[i] = (bytes[i] as number) ^ mask;
  bytes[0] = (bytes[0] as number) ^ (mask === 0 ? 0x80 : 0);
  return bytes.toString('hex').replace(/0+$/, '');
}

/** A lone surrogate cannot be written as UTF-8: a term would stand for more than one text. */
export const isWritable = (text: string): boolean => !/\p{Surrogate}/u.test(text);

/** The least term behind this one. */
export const behind = (term: string): string => term + SEPARATOR;

/** The least text behind all that begin with `prefix`. Requires a character that is not the last of all. */
export function behindPrefix(prefix: string): string {
  const characters = [...prefix];
  for (;;) {
    const last = characters.pop()?.codePointAt(0) as number;
    // No code point of a text lies between these two.
    if (last < 0x10ffff) return characters.join('') + String.fromCodePoint(last === 0xd7ff ? 0xe000 : last + 1);
  }
}
