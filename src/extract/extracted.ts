// What the parsers of this folder make of a file: one flowing text, or units that stand for themselves; and how much a
// file may still give. Pure.
import { AppError } from '../api/errors.js';

/** Where a heading begins, in UTF-16 code units of its text, in ascending order. */
export interface Heading {
  at: number;
  title: string;
}

/** A text that is cut at chunk size, wherever that is. */
export interface Flow {
  kind: 'flow';
  text: string;
  headings: readonly Heading[];
}

/** A page, slide, chapter or row: a chunk of its own, however short. */
export interface Unit {
  /** Chunk path, such as `page_3`. */
  path: string;
  text: string;
  /** Where it stands in the file. */
  meta: Readonly<Record<string, unknown>>;
  /** What the file says of it, under the file's own names: columns that the caller wants in the metadata. */
  fields?: Readonly<Record<string, unknown>>;
  headings?: readonly Heading[];
}

export interface Units {
  kind: 'units';
  units: readonly Unit[];
  /** Rows stay whole up to the largest chunk; pages are cut at the chunk size of the collection. */
  areRows: boolean;
}

export type Extracted = Flow | Units;

export const flowOf = (text: string, headings: readonly Heading[] = []): Flow => ({ kind: 'flow', text, headings });

/** A heading travels in the metadata of every chunk beneath it. */
const TITLE_CHARACTERS_MAX = 200;

export const clipTitle = (title: string): string =>
  [...title.slice(0, 2 * TITLE_CHARACTERS_MAX)].slice(0, TITLE_CHARACTERS_MAX).join('');

/**
 * How much a file may still give: text taken out of it, or bytes it unpacks to. Counted where they come into being, so
 * that no length that the file states of itself is trusted.
 */
export class Budget {
  private leftBytes: number;

  constructor(private readonly bytesMax: number) {
    this.leftBytes = bytesMax;
  }

  /** Throws AppError `file_unreadable` once more is spent than there was. */
  spend(bytes: number): void {
    this.leftBytes -= bytes;
    if (this.leftBytes < 0)
      throw new AppError(
        'file_unreadable',
        `The file has or unpacks to more than ${this.bytesMax} bytes, the limit for text of one file.`,
        { details: { limit_bytes: this.bytesMax } },
      );
  }

  /** The same for a text, which is returned. */
  spendText(text: string): string {
    this.spend(Buffer.byteLength(text));
    return text;
  }
}

/**
 * Builds readable text out of marked-up sources: white space collapsed, blocks on lines of their own, headings noted
 * with their places.
 */
export class Blocks {
  private readonly pieces: string[] = [];
  private readonly headings: Heading[] = [];
  private length = 0;
  /** Line breaks owed before the next text. */
  private breaks = 0;
  private isSpaceOwed = false;
  private headingFrom: number | undefined;

  constructor(private readonly budget: Budget) {}

  /** Adds text; runs of white space become one space. */
  add(text: string): void {
    const words = text.replace(/[ \t\n\r\f]+/g, ' ');
    const trimmed = words.trim();
    if (words.startsWith(' ')) this.isSpaceOwed = true;
    if (trimmed === '') return;
    this.write(words.startsWith(' ') ? words.slice(1) : words, ' ');
  }

  /** Adds text as it is: preformatted. */
  addExactly(text: string): void {
    if (text !== '') this.write(text, ' ');
  }

  /** What follows stands on a new line; with 2, after an empty one. */
  break(lines: 1 | 2): void {
    this.breaks = Math.max(this.breaks, lines);
  }

  /** What follows is another cell of the same row. */
  cell(): void {
    if (this.breaks === 0 && this.length > 0) this.write('\t', '');
  }

  beginHeading(): void {
    this.break(2);
    this.headingFrom = this.pieces.length;
  }

  endHeading(): void {
    const from = this.headingFrom;
    this.headingFrom = undefined;
    this.break(2);
    if (from === undefined || from >= this.pieces.length) return;
    const written = this.pieces.slice(from).join('');
    const title = written.trim().replace(/\s+/g, ' ');
    const at = this.length - written.trimStart().length;
    this.headings.push({ at, title: clipTitle(title) });
  }

  flow(): Flow {
    return flowOf(this.pieces.join('').trimEnd(), this.headings);
  }

  private write(text: string, space: string): void {
    const owed = this.length === 0 ? '' : this.breaks > 0 ? '\n'.repeat(this.breaks) : this.isSpaceOwed ? space : '';
    this.breaks = 0;
    const endsInSpace = text.endsWith(' ');
    this.isSpaceOwed = endsInSpace;
    const piece = this.budget.spendText(owed + (endsInSpace ? text.slice(0, -1) : text));
    this.pieces.push(piece);
    this.length += piece.length;
  }
}
