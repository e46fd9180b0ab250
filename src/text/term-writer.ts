// Writes the terms of chunks as the text index takes them: as UTF-8, each with a terminating zero byte. The terms and
// their order are those of `chunkTerms` (terms.ts), the simple implementation, but they are made in one pass over the
// characters and without a string for each term; most of the time of indexing texts is spent here. Texts in scripts
// without spaces or with letters beyond the basic multilingual plane are left to `chunkTerms`. Each thread has one
// writer for each language.
import type { Language } from '../api/choices.js';
import { stemOfWord } from './stemming.js';
import { CHUNK_TERMS_MAX, MARK } from './terms.js';
import { UNSPACED, plainOf } from './tokenize.js';

/** The kinds of characters. 0 stands for a character whose kind is not known yet. */
const OTHER = 1;
const OF_WORD = 2;
/** A surrogate, a character of a script without spaces, or the prolonged sound mark. */
const UNFIT = 3;
const UNFIT_CHARACTER = new RegExp(`[${UNSPACED}ー\\p{Surrogate}]`, 'u');
const WORD_CHARACTER = /[\p{L}\p{N}\p{M}]/u;

/** The kind of each UTF-16 code unit, determined when it is first met. tokenize.ts defines words. */
class CharacterKinds {
  private readonly kinds = new Uint8Array(0x10000);

  of(code: number): number {
    return this.kinds[code] || (this.kinds[code] = kindOf(String.fromCharCode(code)));
  }
}

const kindOf = (character: string): number =>
  UNFIT_CHARACTER.test(character) ? UNFIT : WORD_CHARACTER.test(character) ? OF_WORD : OTHER;

/** True if the surrogate here is part of a character that no word contains, such as an emoji. */
function isSign(text: string, at: number): boolean {
  const isLow = (text.charCodeAt(at) & 0xfc00) === 0xdc00;
  const character = String.fromCodePoint(text.codePointAt(isLow ? at - 1 : at) ?? 0);
  return character.length === 2 && !WORD_CHARACTER.test(character);
}

/** Writes a non-ASCII character of the basic plane as UTF-8. Returns the position after it. */
function putWide(out: Uint8Array, at: number, code: number): number {
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

const FIRST_ENTRIES = 1024;
/**
 * The table is cleared when its words and stems take more bytes than this. A vocabulary of 100,000 words takes three
 * quarters of it.
 */
const POOL_BYTES_MAX = 2 * 1024 * 1024;
/**
 * A word that is not found within so many places counts as unknown, so a text of words with equal hashes costs only the
 * stemming of each.
 */
const PROBES_MAX = 64;
/** The fields of an entry: hash, start and end of the word in the pool, and end of the stem, which follows the word. */
const FIELDS = 4;

/** A hash table from words, as UTF-8 bytes, to their stems. */
export class StemTable {
  private entries = new Uint32Array(FIRST_ENTRIES * FIELDS);
  /** One more than the number of an entry; 0 for a free place. At least half of the places are free. */
  private places = new Uint32Array(2 * FIRST_ENTRIES);
  private count = 0;
  private pool = Buffer.allocUnsafe(32 * FIRST_ENTRIES);
  private used = 0;

  /** Clears the table if it has grown too large. Entry numbers are valid until then. */
  trim(): void {
    if (this.used <= POOL_BYTES_MAX) return;
    this.places.fill(0);
    this.count = 0;
    this.used = 0;
  }

  /** The entry of the word in `bytes` from `from` to `to`; -1 if it is unknown. */
  find(hash: number, bytes: Uint8Array, from: number, to: number): number {
    const mask = this.places.length - 1;
    const first = mixed(hash);
    for (let probe = 0; probe < PROBES_MAX; probe++) {
      const entry = (this.places[(first + probe) & mask] as number) - 1;
      if (entry < 0 || (this.entries[entry * FIELDS] === hash >>> 0 && this.isWord(entry, bytes, from, to)))
        return entry;
    }
    return -1;
  }

  /** Adds an unknown word and returns its entry. `stem` is empty if the word has none. */
  add(hash: number, word: Uint8Array, stem: string): number {
    const entry = this.count++;
    this.makeRoom(word.length + 3 * stem.length);
    this.pool.set(word, this.used);
    const wordEnd = this.used + word.length;
    const stemEnd = wordEnd + this.pool.write(stem, wordEnd);
    this.entries.set([hash, this.used, wordEnd, stemEnd], entry * FIELDS);
    this.used = stemEnd;
    this.place(entry);
    return entry;
  }

  /** The number of bytes of the stem; 0 if there is none. */
  stemBytes(entry: number): number {
    return (this.entries[entry * FIELDS + 3] as number) - (this.entries[entry * FIELDS + 2] as number);
  }

  /** Copies the stem to `to` at `at`, where there must be room. Returns the position after it. */
  copyStem(entry: number, to: Uint8Array, at: number): number {
    const end = this.entries[entry * FIELDS + 3] as number;
    let next = at;
    // A stem has a few bytes, for which a loop is faster than a call.
    for (let from = this.entries[entry * FIELDS + 2] as number; from < end; from++)
      to[next++] = this.pool[from] as number;
    return next;
  }

  private isWord(entry: number, bytes: Uint8Array, from: number, to: number): boolean {
    const start = this.entries[entry * FIELDS + 1] as number;
    if ((this.entries[entry * FIELDS + 2] as number) - start !== to - from) return false;
    for (let i = from; i < to; i++) if (bytes[i] !== this.pool[start + i - from]) return false;
    return true;
  }

  private makeRoom(bytes: number): void {
    if (this.used + bytes > this.pool.length)
      this.pool = Buffer.concat([this.pool], Math.max(2 * this.pool.length, this.used + bytes));
    if (this.count * FIELDS <= this.entries.length) return;
    const before = this.entries;
    this.entries = new Uint32Array(2 * before.length);
    this.entries.set(before);
    this.places = new Uint32Array(2 * this.places.length);
    for (let entry = 0; entry < this.count - 1; entry++) this.place(entry);
  }

  /** If all places tried are taken, the entry cannot be found later and is used only this once. */
  private place(entry: number): void {
    const mask = this.places.length - 1;
    const first = mixed(this.entries[entry * FIELDS] as number);
    for (let probe = 0; probe < PROBES_MAX; probe++) {
      const place = (first + probe) & mask;
      if (this.places[place] !== 0) continue;
      this.places[place] = entry + 1;
      return;
    }
  }
}

/** Mixes the higher bits of a hash into the lower ones. */
const mixed = (hash: number): number => hash ^ (hash >>> 15);

export interface WrittenTerms {
  /** Valid until the writer's next `write`. */
  readonly bytes: Uint8Array;
  readonly count: number;
}

const MARK_CODE = MARK.charCodeAt(0);
/** The maximum number of UTF-8 bytes for a character of the basic plane. */
const CHARACTER_BYTES_MAX = 3;

/** Writes the terms of texts in one language. */
export class TermWriter {
  private readonly kinds = new CharacterKinds();
  private readonly stems = new StemTable();
  /** The code units of the text. Reading them from the string would take longer than all the rest. */
  private codes = new Uint16Array(1024);
  private out = Buffer.allocUnsafe(4096);
  private end = 0;
  private count = 0;
  /**
   * The stem table entries of the chunk's words that have a stem, and the start and end of each compound, in their
   * order.
   */
  private stemmed: number[] = [];
  private compounds: number[] = [];

  constructor(private readonly language: Language) {}

  /** The terms of a text, or undefined if `chunkTerms` must make them. */
  write(text: string): WrittenTerms | undefined {
    const plain = plainOf(text);
    this.begin(plain);
    if (!this.writeWords(plain)) return undefined;
    for (const entry of this.stemmed) this.writeStem(entry);
    for (let i = 0; i < this.compounds.length; i += 2)
      this.writeCompound(this.compounds[i] as number, this.compounds[i + 1] as number);
    return this.count > CHUNK_TERMS_MAX ? undefined : { bytes: this.out.subarray(0, this.end), count: this.count };
  }

  private begin(plain: string): void {
    const { length } = plain;
    if (length >= this.codes.length) this.codes = new Uint16Array(2 * length);
    Buffer.from(this.codes.buffer).write(plain, 'utf16le');
    this.codes[length] = 0;
    this.stems.trim();
    this.end = 0;
    this.count = 0;
    this.stemmed.length = 0;
    this.compounds.length = 0;
    this.reserve((CHARACTER_BYTES_MAX + 1) * length);
  }

  private reserve(bytes: number): void {
    if (this.end + bytes > this.out.length)
      this.out = Buffer.concat([this.out], Math.max(2 * this.out.length, this.end + bytes));
  }

  /** Writes the words. False if the text is one for `chunkTerms`. */
  private writeWords(plain: string): boolean {
    let compound = -1;
    for (let i = 0; i < plain.length; i++) {
      const kind = this.kinds.of(this.codes[i] as number);
      if (kind === OTHER || (kind === UNFIT && isSign(plain, i))) continue;
      if (kind === UNFIT) return false;
      const end = this.writeWord(plain, i);
      if (this.isJoint(end)) compound = compound < 0 ? i : compound;
      else if (compound >= 0) {
        this.compounds.push(compound, end);
        compound = -1;
      }
      i = end - 1;
    }
    return true;
  }

  /** True if a joint at this position connects the word that ends here to another word. */
  private isJoint(at: number): boolean {
    const code = this.codes[at];
    return (code === 0x2d || code === 0x2e || code === 0x5f) && this.kinds.of(this.codes[at + 1] as number) === OF_WORD;
  }

  /** Writes the word that begins at `from` and returns its end. */
  private writeWord(plain: string, from: number): number {
    const { out, kinds, codes, end: start } = this;
    let end = start;
    let hash = 0x811c9dc5 | 0;
    let i = from;
    for (; kinds.of(codes[i] as number) === OF_WORD; i++) {
      const code = codes[i] as number;
      hash = Math.imul(hash ^ code, 0x01000193);
      if (code < 0x80) out[end++] = code;
      else end = putWide(out, end, code);
    }
    out[end] = 0;
    this.end = end + 1;
    this.count++;
    const { language } = this;
    if (language === 'none') return i;
    const entry = this.stems.find(hash, out, start, end);
    this.noteStem(
      entry >= 0 ? entry : this.stems.add(hash, out.subarray(start, end), stemOfWord(plain.slice(from, i), language)),
    );
    return i;
  }

  private noteStem(entry: number): void {
    if (this.stems.stemBytes(entry) > 0) this.stemmed.push(entry);
  }

  private writeStem(entry: number): void {
    this.reserve(this.stems.stemBytes(entry) + 1);
    this.close(this.stems.copyStem(entry, this.out, this.end));
  }

  private writeCompound(from: number, to: number): void {
    this.reserve(CHARACTER_BYTES_MAX * (to - from) + 2);
    let end = this.end;
    this.out[end++] = MARK_CODE;
    for (let i = from; i < to; i++) {
      const code = this.codes[i] as number;
      if (code < 0x80) this.out[end++] = code;
      else end = putWide(this.out, end, code);
    }
    this.close(end);
  }

  private close(end: number): void {
    this.out[end] = 0;
    this.end = end + 1;
    this.count++;
  }
}

/** The writers, each created when its language is first used. The output does not depend on earlier texts. */
const WRITERS = new Map<Language, TermWriter>();

/** This thread's writer for a language. */
export function writerOf(language: Language): TermWriter {
  const present = WRITERS.get(language);
  if (present) return present;
  const made = new TermWriter(language);
  WRITERS.set(language, made);
  return made;
}
