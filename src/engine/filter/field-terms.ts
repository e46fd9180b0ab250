// The metadata of a chunk as terms: what a filter can ask about it (match-filter.ts), every field under every name that
// reaches it. Pure. Called by the shard workers for each chunk that they index. That the terms say what the filters
// mean is shown by test/rank/field-lookups.test.ts.
import { FILTER_FIELD_CHARACTERS_MAX } from '../contract/limits.js';
import { timeOf } from './compare-values.js';
import { isLong, isWritable, numberValue, sectionOf, textValue, UNLISTED } from './field-encoding.js';
import type { MetaLayers } from './match-filter.js';
import { numberOfDecimal } from './scalar-set.js';

/** A chunk with more is not listed: it is looked at itself whenever somebody filters. */
const TERMS_MAX = 1024;

type Json = Readonly<Record<string, unknown>>;

export interface FlatFields {
  readonly layer: Json;
  readonly terms: ReadonlySet<string>;
  /** Under every name. */
  readonly fields: ReadonlySet<string>;
  readonly isListed: boolean;
}

/** Of one layer alone: what the chunks of a document share. */
export const flattenLayer = (layer: Json): FlatFields => ({ layer, ...new Flattener([layer]).all() });

/**
 * The distinct terms of a chunk. Where no key of its own hides one of the document's, those of both are put together.
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
   * What paths lead to: through objects, and through lists of them. A key with a dot is only found at the top, and goes
   * before a path.
   */
  private addBelow(path: string, value: unknown): void {
    for (const one of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (typeof one !== 'object' || one === null || Array.isArray(one)) continue;
      for (const [key, inner] of Object.entries(one)) {
        const field = `${path}.${key}`;
        // No filter names a longer one; and the chunk is not listed anyway.
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
  }

  private addText(field: string, text: string): void {
    const timeMs = timeOf(text);
    const number = numberOfDecimal(text);
    this.put(text, sectionOf(field, timeMs === undefined ? 's' : 'i') + textValue(text));
    if (timeMs !== undefined) this.put(field, sectionOf(field, 't') + numberValue(timeMs));
    if (number !== undefined) this.put(field, sectionOf(field, 'd') + numberValue(number));
    if (isLong(text)) this.put(field, sectionOf(field, 'l'));
  }

  /** `text` is what may not be writable in the term. */
  private put(text: string, term: string): void {
    this.isListed &&= this.terms.size < TERMS_MAX && isWritable(text);
    if (this.isListed) this.terms.add(term);
  }
}
