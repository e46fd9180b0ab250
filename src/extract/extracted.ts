// What the parsers of this folder make of a file: one flowing text, or units that stand for themselves.
// Cut into chunks by ../cut.ts.

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
