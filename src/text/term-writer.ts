// The terms of chunks as the index of words takes them: UTF-8, a zero byte behind each. The very terms of chunkTerms
// (rank-terms.ts), and in its order, but made in one pass over the characters without a string for each: indexing the
// words of a collection is mostly this. Texts of scripts that do not set words apart, or are beyond the basic plane,
// are left to chunkTerms. One for each language and thread.
import type { Language } from '../contract/language.js';
import { CharacterKinds, isSign, OF_WORD, OTHER, putWide, UNFIT } from './character-kinds.js';
import { CHUNK_TERMS_MAX, MARK } from './rank-terms.js';
import { stemOfWord } from './ranked-words.js';
import { StemTable } from './stem-table.js';
import { plainOf } from './tokenize.js';

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
