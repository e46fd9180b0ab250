// The terms of chunks as the text index takes them: UTF-8, a zero byte behind each. They are the very terms of
// chunkTerms (terms.ts), its naive twin, and in its order, but made in one pass over the characters without a string
// for each: indexing the texts of a collection is mostly this. Texts of scripts that do not set words apart, or are
// beyond the basic plane, are left to chunkTerms. One for each language and thread.
import type { Language } from '../api/choices.js';
import { stemOfWord } from './stemming.js';
import { CHUNK_TERMS_MAX, MARK } from './terms.js';
import { UNSPACED, plainOf } from './tokenize.js';

/** 0 is a character that has not been met. */
const OTHER = 1;
const OF_WORD = 2;
/** Half of a character, or of a script whose words are not set apart, with the mark that draws a kana out. */
const UNFIT = 3;
const UNFIT_CHARACTER = new RegExp(`[${UNSPACED}ー\\p{Surrogate}]`, 'u');
const WORD_CHARACTER = /[\p{L}\p{N}\p{M}]/u;

/**
 * What each character of a text is to who cuts it into words (tokenize.ts says what a word is), by its code, and how it
 * is written as UTF-8.
 */
class CharacterKinds {
  private readonly kinds = new Uint8Array(0x10000);

  of(code: number): number {
    return this.kinds[code] || (this.kinds[code] = kindOf(String.fromCharCode(code)));
  }
}

const kindOf = (character: string): number =>
  UNFIT_CHARACTER.test(character) ? UNFIT : WORD_CHARACTER.test(character) ? OF_WORD : OTHER;

/** Whether a half of a character here is one of a sign that no word has, such as an emoji. */
function isSign(text: string, at: number): boolean {
  const isLow = (text.charCodeAt(at) & 0xfc00) === 0xdc00;
  const character = String.fromCodePoint(text.codePointAt(isLow ? at - 1 : at) ?? 0);
  return character.length === 2 && !WORD_CHARACTER.test(character);
}

/** Writes a character of the basic plane beyond ASCII; answers the place behind it. */
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
 * With the bytes of so many words and stems it begins anew: a vocabulary of 100,000 words has three quarters of them.
 */
const POOL_BYTES_MAX = 2 * 1024 * 1024;
/**
 * A word that is not found within so many places is not found at all: texts made to have words of one hash cost no more
 * than a stem each.
 */
const PROBES_MAX = 64;
/** Of an entry: hash, and where its word and its stem begin and end in the pool. The stem stands behind the word. */
const FIELDS = 4;

export class StemTable {
  private entries = new Uint32Array(FIRST_ENTRIES * FIELDS);
  /** One more than the number of an entry; 0 where the place is free. At least half are. */
  private places = new Uint32Array(2 * FIRST_ENTRIES);
  private count = 0;
  private pool = Buffer.allocUnsafe(32 * FIRST_ENTRIES);
  private used = 0;

  /** Forgets everything where it has grown too large. Entries hold until this is called. */
  trim(): void {
    if (this.used <= POOL_BYTES_MAX) return;
    this.places.fill(0);
    this.count = 0;
    this.used = 0;
  }

  /** The entry of the word that stands in `bytes` from `from` up to `to`; -1 where it is not known. */
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

  /** The new entry of a word that is not known. `stem` is empty where the word has no stem. */
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

  /** Bytes of the stem; 0 where there is none. */
  stemBytes(entry: number): number {
    return (this.entries[entry * FIELDS + 3] as number) - (this.entries[entry * FIELDS + 2] as number);
  }

  /** Writes the stem; answers the place behind it. Requires room for its bytes. */
  copyStem(entry: number, to: Uint8Array, at: number): number {
    const end = this.entries[entry * FIELDS + 3] as number;
    let next = at;
    // Stems are a few bytes: a call to copy them takes longer.
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

  /** Where all places are taken the entry serves once. */
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

/** So that the lower bits depend on all. */
const mixed = (hash: number): number => hash ^ (hash >>> 15);

export interface WrittenTerms {
  /** Of use until the writer is asked again. */
  readonly bytes: Uint8Array;
  readonly count: number;
}

const MARK_CODE = MARK.charCodeAt(0);
/** UTF-8 takes no more for a character of the basic plane. */
const CHARACTER_BYTES_MAX = 3;

export class TermWriter {
  private readonly kinds = new CharacterKinds();
  private readonly stems = new StemTable();
  /** The text, as numbers: reading them out of a string takes longer than all the rest. */
  private codes = new Uint16Array(1024);
  private out = Buffer.allocUnsafe(4096);
  private end = 0;
  private count = 0;
  /**
   * Entries of the words of the chunk that have a stem, and from where to where its compounds reach, in their order.
   */
  private stemmed: number[] = [];
  private compounds: number[] = [];

  constructor(private readonly language: Language) {}

  /** undefined where chunkTerms has to make them. */
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

  /** False where the text is none for a writer. */
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

  /** Whether one character joins the word that ends here to the next one. */
  private isJoint(at: number): boolean {
    const code = this.codes[at];
    return (code === 0x2d || code === 0x2e || code === 0x5f) && this.kinds.of(this.codes[at + 1] as number) === OF_WORD;
  }

  /** The word that begins at `from`; answers its end. */
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

/** Each made when its language is first asked for; what it writes does not depend on what it has written. */
const WRITERS = new Map<Language, TermWriter>();

export function writerOf(language: Language): TermWriter {
  const present = WRITERS.get(language);
  if (present) return present;
  const made = new TermWriter(language);
  WRITERS.set(language, made);
  return made;
}
