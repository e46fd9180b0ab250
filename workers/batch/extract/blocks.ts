// Builds readable text out of marked-up sources: white space collapsed, blocks on lines of their own, headings noted
// with their places. Used by the readers of HTML, ODT and PPTX.
import type { Budget } from './budget.js';
import { clipTitle, flowOf, type Flow, type Heading } from './extracted.js';

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
