// The output of the parsers: one continuous text, or separate units; and the budget that limits what a file may yield.
// Pure except for the state of `Budget` and `Blocks`.
import { AppError } from '../api/errors.js';

/**
 * A heading and the offset where it begins, in UTF-16 code units of the text. Lists of headings are in ascending order.
 */
export interface Heading {
  at: number;
  title: string;
}

/** A continuous text, which is split at the chunk size. */
export interface Flow {
  kind: 'flow';
  text: string;
  headings: readonly Heading[];
}

/** A page, slide, chapter or row: a chunk of its own, however short. */
export interface Unit {
  /** The chunk path, such as `page_3`. */
  path: string;
  text: string;
  /** The position in the file. */
  meta: Readonly<Record<string, unknown>>;
  /** Values of the file for the metadata, under the file's own names: the columns that the caller requested. */
  fields?: Readonly<Record<string, unknown>>;
  headings?: readonly Heading[];
}

export interface Units {
  kind: 'units';
  units: readonly Unit[];
  /** Rows stay whole up to the maximum chunk size; other units are split at the chunk size of the collection. */
  areRows: boolean;
}

export type Extracted = Flow | Units;

export const flowOf = (text: string, headings: readonly Heading[] = []): Flow => ({ kind: 'flow', text, headings });

/** Maximum length of a heading, because it is in the metadata of every chunk below it. */
const TITLE_CHARACTERS_MAX = 200;

export const clipTitle = (title: string): string =>
  [...title.slice(0, 2 * TITLE_CHARACTERS_MAX)].slice(0, TITLE_CHARACTERS_MAX).join('');

/**
 * Limits how much a file may yield: extracted text or unpacked bytes. They are counted as they are produced, so lengths
 * that the file states are not trusted.
 */
export class Budget {
  private leftBytes: number;

  constructor(private readonly bytesMax: number) {
    this.leftBytes = bytesMax;
  }

  /** Throws AppError `file_unreadable` if the total exceeds the budget. */
  spend(bytes: number): void {
    this.leftBytes -= bytes;
    if (this.leftBytes < 0)
      throw new AppError(
        'file_unreadable',
        `The text or the unpacked size of the file exceeds the limit of ${this.bytesMax} bytes.`,
        { details: { limit_bytes: this.bytesMax } },
      );
  }

  /** Spends the size of the text, and returns the text. */
  spendText(text: string): string {
    this.spend(Buffer.byteLength(text));
    return text;
  }
}

/**
 * Builds readable text from markup: collapses white space, separates blocks by line breaks, and records the positions
 * of headings.
 */
export class Blocks {
  private readonly pieces: string[] = [];
  private readonly headings: Heading[] = [];
  private length = 0;
  /** Line breaks to write before the next text. */
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

  /** Adds preformatted text unchanged. */
  addExactly(text: string): void {
    if (text !== '') this.write(text, ' ');
  }

  /** Starts a new line before the next text; with 2, after an empty line. */
  break(lines: 1 | 2): void {
    this.breaks = Math.max(this.breaks, lines);
  }

  /** Separates the next text as another cell of the row. */
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
