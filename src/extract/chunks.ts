// Splits extracted content into chunks with paths and provenance metadata. Pure functions.
import type { Chunking } from '../api/collections.js';
import { AppError } from '../api/errors.js';
import { CHUNK_SIZE_MAX } from '../api/limits.js';
import { chunkText } from '../text/chunking.js';
import type { PreparedChunk } from '../text/prepared-document.js';
import type { Extracted, Flow, Heading, Unit } from './extracted.js';

type Fields = Readonly<Record<string, unknown>>;

const APART = 'provenance';

/**
 * Builds the metadata of a chunk from its position (`place`) and the fields of the file (`fields`). A hit merges it
 * with the metadata of the document (`document`). If the caller uses one of the position's names, the caller's value
 * keeps the name, and the whole position is also stored under `provenance`.
 */
function chunkMeta(place: Fields, fields: Fields, document: Fields): Fields {
  const isTaken = (name: string): boolean => Object.hasOwn(fields, name) || Object.hasOwn(document, name);
  const names = Object.keys(place);
  if (!names.some(isTaken)) return { ...place, ...fields };
  let apart = APART;
  while (isTaken(apart)) apart = `_${apart}`;
  const free = Object.fromEntries(names.filter((name) => !isTaken(name)).map((name) => [name, place[name]]));
  return { ...free, ...fields, [apart]: place };
}

/** Lone surrogates, which JSON escapes can produce, are not characters; they become U+FFFD. */
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
const SURROGATE_PAIR = /[\ud800-\udbff][\udc00-\udfff]/g;

/**
 * Returns the chunks in document order, without blank ones. `metadata` is the caller's metadata of the document. Throws
 * AppError `chunk_too_large` if a text must not be split but exceeds the largest chunk, and `no_text_extracted` if
 * there is no chunk.
 */
export function cut(extracted: Extracted, chunking: Chunking, metadata: Record<string, unknown>): PreparedChunk[] {
  const pieces =
    extracted.kind === 'flow'
      ? flowPieces(extracted, chunking)
      : extracted.units.flatMap((unit) => unitPieces(unit, chunking, extracted.areRows));
  if (pieces.length === 0) throw new AppError('no_text_extracted');
  return pieces.map(({ path, place, fields = {}, text }) => ({
    path,
    metaJson: JSON.stringify(chunkMeta(place, fields, metadata)),
    text: text.replace(LONE_SURROGATE, '\ufffd'),
  }));
}

/** A chunk before its metadata is built. */
interface Piece {
  path: string;
  /** Position metadata, such as offset and heading. */
  place: Record<string, unknown>;
  fields?: Unit['fields'];
  text: string;
}

function flowPieces({ text, headings }: Flow, chunking: Chunking): Piece[] {
  return windows(text, headings, chunking).map((window, i) => ({ path: `chunk_${i}`, ...window }));
}

/**
 * A unit becomes one chunk if it fits; a row may have the maximum chunk size. A longer unit becomes `page_3.0`,
 * `page_3.1` and so on.
 */
function unitPieces({ path, text, meta, fields, headings = [] }: Unit, chunking: Chunking, isRow: boolean): Piece[] {
  if (text.trim() === '') return [];
  const whole = isRow || chunking.strategy === 'none' ? CHUNK_SIZE_MAX : (chunking.size as number);
  const own = fields && { fields };
  if (!hasMoreCharacters(text, whole))
    return [{ path, place: { ...meta, ...headingMeta(headings, text) }, ...own, text }];
  return windows(text, headings, chunking).map((window, i) => ({
    path: `${path}.${i}`,
    place: { ...meta, ...window.place },
    ...own,
    text: window.text,
  }));
}

function windows(text: string, headings: readonly Heading[], chunking: Chunking): Pick<Piece, 'text' | 'place'>[] {
  if (chunking.strategy === 'none' && hasMoreCharacters(text, CHUNK_SIZE_MAX)) {
    throw new AppError(
      'chunk_too_large',
      `A text in a collection with chunking \`none\` must have at most ${CHUNK_SIZE_MAX} characters.`,
    );
  }
  const placed = inCharacters(text, headings);
  const sections = headings.map(({ at }) => at);
  let passed = 0;
  return chunkText(text, chunking, sections).map(({ text: window, offset }) => {
    const start = offset + leadingBlanks(window);
    while (passed < placed.length && placed[passed]!.at <= start) passed++;
    const heading = placed[passed - 1];
    return { text: window, place: { offset, ...(heading && { heading: heading.title }) } };
  });
}

/** The heading of a unit that is a single chunk: the one it begins with, or its first. */
function headingMeta(headings: readonly Heading[], text: string): { heading?: string } {
  const heading = headings.findLast(({ at }) => at <= leadingBlanks(text)) ?? headings[0];
  return heading ? { heading: heading.title } : {};
}

/** Converts the positions of headings from UTF-16 code units to characters. */
function inCharacters(text: string, headings: readonly Heading[]): readonly Heading[] {
  let pairs = 0;
  let from = 0;
  return headings.map(({ at, title }) => {
    pairs += text.slice(from, at).match(SURROGATE_PAIR)?.length ?? 0;
    from = at;
    return { at: at - pairs, title };
  });
}

const leadingBlanks = (text: string): number => text.length - text.trimStart().length;

function hasMoreCharacters(text: string, max: number): boolean {
  if (text.length <= max) return false;
  return text.length > 2 * max || [...text].length > max;
}
