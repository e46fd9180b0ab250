// Metadata as index terms: the terms of a chunk's metadata, and the terms to look up for one condition of a filter. A
// term is `field \u0001 section value`, so the byte order of the terms of one section is the order of the values. A
// field is indexed under every name by which a filter can reach it. test/unit/ranking/field-lookups.test.ts checks that
// lookups agree with the meaning of filters (match.ts). Pure functions.
import { hash } from 'node:crypto';
import type { Comparison, FieldTest, Scalar } from '../../api/filter.js';
import { FILTER_FIELD_CHARACTERS_MAX } from '../../api/limits.js';
import { timeOf } from '../../api/numbers.js';
import { type CellRange, cellOf, coverOf, pointOf } from './geo.js';
import { type MetaLayers, numberOfDecimal } from './match.js';

/**
 * Kinds of terms. b: booleans; d: strings in decimal form, as numbers; e: the field exists; g: cells of points on
 * the Earth; i: strings that are ISO times; l: marks a string too long to be indexed whole; n: numbers; s: all other
 * strings; t: ISO times in milliseconds; z: null.
 */
type Section = 'b' | 'd' | 'e' | 'g' | 'i' | 'l' | 'n' | 's' | 't' | 'z';

const SEPARATOR = '\u0001';
/**
 * The only term of a chunk whose metadata is not indexed, so that filters must read its record. No field and section
 * can produce this term.
 */
export const UNLISTED = `${SEPARATOR}U`;

/** A longer string is indexed by its beginning and a digest. */
const TEXT_CHARACTERS_MAX = 200;
const DIGEST_MARK = `${SEPARATOR}\u0003`;

const sectionOf = (field: string, section: Section): string => escaped(field) + SEPARATOR + section;

const isLong = (text: string): boolean => text.length > TEXT_CHARACTERS_MAX;

/** Removes zero characters and unescaped separators, preserving the order of code points. */
function escaped(text: string): string {
  return /[\0\u0001]/.test(text)
    ? text.replace(/[\0\u0001]/g, (character) => (character === '\0' ? '\u0001\u0001' : '\u0001\u0002'))
    : text;
}

/**
 * A string as the value of a term. The beginning of a long string suffices to order it among strings that are not long;
 * the digest distinguishes it from all other strings.
 */
function textValue(text: string): string {
  if (!isLong(text)) return escaped(text);
  return escaped(beginningOf(text)) + DIGEST_MARK + hash('sha256', text).slice(0, 32);
}

/**
 * Hexadecimal digits in numeric order: the bits of the double, with the sign bit inverted, or all bits for a negative
 * number, without trailing zeros.
 */
function numberValue(value: number): string {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeDoubleBE(value + 0); // -0 is 0.
  const mask = (bytes[0] as number) >= 0x80 ? 0xff : 0;
  for (let i = 0; i < 8; i++) bytes[i] = (bytes[i] as number) ^ mask;
  bytes[0] = (bytes[0] as number) ^ (mask === 0 ? 0x80 : 0);
  return bytes.toString('hex').replace(/0+$/, '');
}

/**
 * Whether the text is valid UTF-16. A lone surrogate cannot be encoded in UTF-8, so different texts would get the same
 * term.
 */
const isWritable = (text: string): boolean => !/\p{Surrogate}/u.test(text);

/** The smallest term greater than this one. */
const behind = (term: string): string => term + SEPARATOR;

/**
 * The smallest text greater than all texts that begin with `prefix`. Requires that `prefix` has a character other than
 * U+10FFFF.
 */
function behindPrefix(prefix: string): string {
  const characters = [...prefix];
  for (;;) {
    const last = characters.pop()?.codePointAt(0) as number;
    // Surrogates are skipped: no code point of a valid text lies between U+D7FF and U+E000.
    if (last < 0x10ffff) return characters.join('') + String.fromCodePoint(last === 0xd7ff ? 0xe000 : last + 1);
  }
}

/**
 * Largest number of terms of a chunk. The metadata of a chunk with more is not indexed, and filters read its record.
 */
const TERMS_MAX = 1024;

type Json = Readonly<Record<string, unknown>>;

/** The terms of one layer of metadata. */
export interface FlatFields {
  readonly layer: Json;
  readonly terms: ReadonlySet<string>;
  /** Every name under which a field was indexed. */
  readonly fields: ReadonlySet<string>;
  readonly isListed: boolean;
}

/** The terms of one layer alone, for instance those that the chunks of a document share. */
export const flattenLayer = (layer: Json): FlatFields => ({ layer, ...new Flattener([layer]).all() });

/**
 * The distinct terms of a chunk's metadata. If no key of the chunk hides one of the document's, the terms of both
 * layers are joined; otherwise the merged metadata is flattened.
 */
export function chunkFieldTerms(own: Json, document: FlatFields): readonly string[] {
  const flat = flattenLayer(own);
  const hides = [...flat.fields].some((field) => document.fields.has(field));
  if (!hides && flat.isListed && document.isListed && flat.terms.size + document.terms.size <= TERMS_MAX)
    return [...document.terms, ...flat.terms];
  const { terms, isListed } = new Flattener([own, document.layer]).all();
  return isListed ? [...terms] : [UNLISTED];
}

class Flattener {
  private readonly terms = new Set<string>();
  private readonly fields = new Set<string>();
  private readonly top = new Map<string, unknown>();
  private isListed = true;

  constructor(layers: MetaLayers) {
    for (const layer of layers)
      for (const [key, value] of Object.entries(layer)) if (!this.top.has(key)) this.top.set(key, value);
  }

  all(): Omit<FlatFields, 'layer'> {
    for (const [key, value] of this.top) {
      this.add(key, value);
      if (!key.includes('.')) this.addBelow(key, value);
    }
    return { terms: this.terms, fields: this.fields, isListed: this.isListed };
  }

  private add(field: string, value: unknown): void {
    this.fields.add(field);
    this.put(field, sectionOf(field, 'e'));
    for (const one of Array.isArray(value) ? (value as unknown[]) : [value]) this.addScalar(field, one);
  }

  /**
   * Adds the fields that paths lead to, through objects and through lists of objects. A key that contains a dot is
   * found only at the top level, where it takes precedence over a path.
   */
  private addBelow(path: string, value: unknown): void {
    for (const one of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (typeof one !== 'object' || one === null || Array.isArray(one)) continue;
      for (const [key, inner] of Object.entries(one)) {
        const field = `${path}.${key}`;
        // No filter can name a longer field, and once the chunk is not listed its terms do not matter.
        if (key.includes('.') || field.length > FILTER_FIELD_CHARACTERS_MAX || !this.isListed) continue;
        if (!this.top.has(field)) this.add(field, inner);
        this.addBelow(field, inner);
      }
    }
  }

  private addScalar(field: string, value: unknown): void {
    if (typeof value === 'string') this.addText(field, value);
    else if (typeof value === 'number') this.put(field, sectionOf(field, 'n') + numberValue(value));
    else if (typeof value === 'boolean') this.put(field, sectionOf(field, 'b') + String(value));
    else if (value === null) this.put(field, sectionOf(field, 'z'));
    else this.addPoint(field, value);
  }

  private addPoint(field: string, value: unknown): void {
    const point = pointOf(value);
    if (point) this.put(field, sectionOf(field, 'g') + cellOf(point));
  }

  private addText(field: string, text: string): void {
    const timeMs = timeOf(text);
    const number = numberOfDecimal(text);
    this.put(text, sectionOf(field, timeMs === undefined ? 's' : 'i') + textValue(text));
    if (timeMs !== undefined) this.put(field, sectionOf(field, 't') + numberValue(timeMs));
    if (number !== undefined) this.put(field, sectionOf(field, 'd') + numberValue(number));
    if (isLong(text)) this.put(field, sectionOf(field, 'l'));
  }

  /** Adds a term. `text` is the part of it that may be unfit for UTF-8. */
  private put(text: string, term: string): void {
    this.isListed &&= this.terms.size < TERMS_MAX && isWritable(text);
    if (this.isListed) this.terms.add(term);
  }
}

/** The sections that order values: each has one kind, in the order of the values. */
export type SortedSection = Extract<Section, 'b' | 'd' | 'n' | 's' | 't'>;

/** The part of a text that its term has in full. Texts with the same beginning follow each other in the index. */
export function beginningOf(text: string): string {
  if (!isLong(text)) return text;
  const isInPair = (text.charCodeAt(TEXT_CHARACTERS_MAX - 1) & 0xfc00) === 0xd800;
  return text.slice(0, TEXT_CHARACTERS_MAX + (isInPair ? 1 : 0));
}

/** The first term of a section, or of a value in it. `value`: a number, milliseconds of a time, or a beginning. */
export function firstTermOf(field: string, section: SortedSection, value?: number | string): string {
  const prefix = sectionOf(field, section);
  if (value === undefined) return prefix;
  return prefix + (typeof value === 'number' ? numberValue(value) : escaped(value));
}

/** The smallest term behind a section, or behind all terms of a value in it. */
export function termBehind(field: string, section: SortedSection, value?: number | string): string {
  const first = firstTermOf(field, section, value);
  const isMany = value === undefined || (typeof value === 'string' && value.length >= TEXT_CHARACTERS_MAX);
  return isMany ? behindPrefix(first) : behind(first);
}

/** The value of a term of a section: the inverse of `firstTermOf`. */
export function valueOfTerm(field: string, section: SortedSection, term: string): number | string {
  const value = term.slice(sectionOf(field, section).length);
  if (section === 'n' || section === 'd' || section === 't') return numberOfValue(value);
  const [beginning = ''] = value.split(DIGEST_MARK);
  return unescaped(beginning);
}

/** The terms from `from` (inclusive) to `to` (exclusive) in byte order. */
interface TermRange {
  readonly from: string;
  readonly to: string;
  /** Only terms that contain this text after `from`, or end with it if `atEnd` is set. */
  readonly piece?: string;
  readonly atEnd?: boolean;
}

/** A condition as terms: a chunk matches if it has any of `terms` or a term in one of `ranges`. */
export interface Lookup {
  readonly terms: readonly string[];
  readonly ranges: readonly TermRange[];
  /** A chunk without this term matches too. */
  readonly absent?: string;
  /** A chunk with this term must be rechecked. */
  readonly unsure?: string | undefined;
  /** A chunk with a term in one of these ranges must be rechecked. */
  readonly unsureRanges?: readonly TermRange[];
}

/** The lookup for one condition of a filter. Returns undefined if terms cannot decide it. */
export function lookupOf(field: string, test: FieldTest): Lookup | undefined {
  if (!isWritable(field)) return undefined;
  if (test.op === 'exists') return { terms: [sectionOf(field, 'e')], ranges: [] };
  if (test.op === 'in') return equality(field, test.values);
  if (test.op === 'time')
    return { terms: [], ranges: [compared(sectionOf(field, 't'), numberValue(test.timeMs), test.by)] };
  if (test.op === 'near' || test.op === 'box') {
    const { inside, edge } = coverOf(test);
    return { terms: [], ranges: cells(field, inside), unsureRanges: cells(field, edge) };
  }
  const operand = test.op === 'compare' ? test.value : test.text;
  if (typeof operand === 'number')
    return { terms: [], ranges: [...numbers(field, 'n', test), ...numbers(field, 'd', test)] };
  if (!isWritable(operand)) return undefined;
  const unsure = sectionOf(field, 'l');
  if (test.op === 'compare')
    return { terms: [], ranges: comparison(field, test.by, operand), unsure: isLong(operand) ? unsure : undefined };
  if (test.op === 'prefix')
    return {
      terms: [],
      ranges: (['s', 'i'] as const).map((section) => beginning(sectionOf(field, section) + textValue(operand))),
      unsure: isLong(operand) ? unsure : undefined,
    };
  // These three characters are part of escape sequences in terms, so looking for them could match where the text has
  // none.
  if (/[\0\u0001\u0002]/.test(operand)) return undefined;
  return {
    terms: [],
    ranges: (['s', 'i'] as const).map((section) => ({
      ...beginning(sectionOf(field, section)),
      piece: operand,
      atEnd: test.op === 'suffix',
    })),
    unsure,
  };
}

/** Equality as in ScalarSet: numbers and booleans equal their texts, and null equals an absent field. */
function equality(field: string, values: readonly Scalar[]): Lookup | undefined {
  if (values.some((value) => typeof value === 'string' && !isWritable(value))) return undefined;
  const terms = new Set(values.flatMap((value) => equalTerms(field, value)));
  return { terms: [...terms], ranges: [], ...(values.includes(null) && { absent: sectionOf(field, 'e') }) };
}

function equalTerms(field: string, value: Scalar): string[] {
  if (value === null) return [sectionOf(field, 'z')];
  if (typeof value === 'boolean') return [sectionOf(field, 'b') + String(value), sectionOf(field, 's') + String(value)];
  if (typeof value === 'number')
    return [sectionOf(field, 'n') + numberValue(value), sectionOf(field, 'd') + numberValue(value)];
  const number = numberOfDecimal(value);
  const isBoolean = value === 'true' || value === 'false';
  return [
    sectionOf(field, timeOf(value) === undefined ? 's' : 'i') + textValue(value),
    ...(number === undefined ? [] : [sectionOf(field, 'n') + numberValue(number)]),
    ...(isBoolean ? [sectionOf(field, 'b') + value] : []),
  ];
}

/** Order as in createComparison: times compare with times, other texts with texts, numbers with decimal forms. */
function comparison(field: string, by: Comparison, operand: string): TermRange[] {
  const timeMs = timeOf(operand);
  const number = numberOfDecimal(operand);
  const texts = compared(sectionOf(field, 's'), textValue(operand), by);
  if (timeMs !== undefined) return [texts, compared(sectionOf(field, 't'), numberValue(timeMs), by)];
  return [
    texts,
    compared(sectionOf(field, 'i'), textValue(operand), by),
    ...(number === undefined ? [] : [compared(sectionOf(field, 'n'), numberValue(number), by)]),
  ];
}

function numbers(field: string, section: Section, test: FieldTest): TermRange[] {
  return test.op === 'compare' && typeof test.value === 'number'
    ? [compared(sectionOf(field, section), numberValue(test.value), test.by)]
    : [];
}

function compared(section: string, value: string, by: Comparison): TermRange {
  const term = section + value;
  const edge = by === 'gte' || by === 'lt' ? term : behind(term);
  return by === 'gt' || by === 'gte' ? { from: edge, to: behindPrefix(section) } : { from: section, to: edge };
}

function cells(field: string, ranges: readonly CellRange[]): TermRange[] {
  const section = sectionOf(field, 'g');
  return ranges.map(({ from, to }) => ({
    from: section + from,
    to: to === undefined ? behindPrefix(section) : section + to,
  }));
}

const beginning = (prefix: string): TermRange => ({ from: prefix, to: behindPrefix(prefix) });

// Facets: the values of a field as terms, and back.

/** The terms of a field are those from `from` (inclusive) to `to` (exclusive). */
export function fieldRange(field: string): { readonly from: string; readonly to: string } {
  const from = sectionOf(field, '' as Section);
  return { from, to: behindPrefix(from) };
}

/** What a term of a field says of a chunk that has it, by its section. */
export interface FieldTerm {
  /** `field`: the chunk has the field; `value`: it has this value there. */
  readonly of?: 'field' | 'value';
  /** The term orders values by number, or by the time of a text in milliseconds. A number does both. */
  readonly orders?: 'number' | 'time';
}

const OF_SECTION: Readonly<Partial<Record<Section, FieldTerm>>> = {
  e: { of: 'field' },
  b: { of: 'value' },
  z: { of: 'value' },
  s: { of: 'value' },
  i: { of: 'value' },
  n: { of: 'value', orders: 'number' },
  d: { orders: 'number' },
  t: { orders: 'time' },
};

/** The sense of a term behind the first `at` characters, which name its field; undefined if it only helps lookups. */
export const fieldTermOf = (term: string, at: number): FieldTerm | undefined => OF_SECTION[term[at] as Section];

/** Whether the text of a term was too long to stand in it. */
export const isShortened = (term: string, at: number): boolean => term.includes(DIGEST_MARK, at);

/** The value in a term that has one and is not shortened. */
export function valueIn(term: string, at: number): Scalar {
  const [section, value] = [term[at] as Section, term.slice(at + 1)];
  if (section === 'b') return value === 'true';
  if (section === 'z') return null;
  return section === 's' || section === 'i' ? unescaped(value) : numberOfValue(value);
}

/** The number, or the time in milliseconds, by which a term orders values. Terms of one section are in that order. */
export const orderIn = (term: string, at: number): number => numberOfValue(term.slice(at + 1));

/** The term of a value in a field; undefined for a value that is not a scalar, or a text that has no term. */
export function valueTerm(field: string, value: unknown): string | undefined {
  if (typeof value === 'string')
    return isWritable(value) ? sectionOf(field, timeOf(value) === undefined ? 's' : 'i') + textValue(value) : undefined;
  if (typeof value === 'number') return sectionOf(field, 'n') + numberValue(value);
  if (typeof value === 'boolean') return sectionOf(field, 'b') + String(value);
  return value === null ? sectionOf(field, 'z') : undefined;
}

/**
 * The ranges of terms of the values from `from` (inclusive) to `to` (exclusive), by number or by time; an absent bound
 * does not limit.
 */
export function valueRanges(field: string, by: 'number' | 'time', from?: number, to?: number): TermRange[] {
  const sections: readonly Section[] = by === 'number' ? ['n', 'd'] : ['t'];
  return sections.map((name) => {
    const section = sectionOf(field, name);
    return {
      from: from === undefined ? section : section + numberValue(from),
      to: to === undefined ? behindPrefix(section) : section + numberValue(to),
    };
  });
}

const unescaped = (text: string): string =>
  text.includes(SEPARATOR)
    ? text.replace(/\u0001[\u0001\u0002]/g, (pair) => (pair === '\u0001\u0001' ? '\0' : '\u0001'))
    : text;

/** Inverse of `numberValue`. */
function numberOfValue(digits: string): number {
  const bytes = Buffer.from(digits.padEnd(16, '0'), 'hex');
  const mask = (bytes[0] as number) >= 0x80 ? 0 : 0xff;
  if (mask === 0) bytes[0] = (bytes[0] as number) ^ 0x80;
  else for (let i = 0; i < 8; i++) bytes[i] = (bytes[i] as number) ^ mask;
  return bytes.readDoubleBE();
}
