// Reads CSV and TSV with csv-parse, streaming: one unit per row, with the requested columns.
import { Readable } from 'node:stream';
import { parse } from 'csv-parse';
import { AppError } from '../api/errors.js';
import type { Budget, Unit, Units } from './extracted.js';
import type { CsvOptions } from './messages.js';
import { cellLine, columnName, columnNames, looksLikeHeader } from './table.js';

/** The requested columns, which callers select by name or by index from 1. */
interface Columns {
  hasHeader: boolean;
  names: string[];
  /** Indexes from 0 of the columns for the metadata. */
  meta: number[];
  /**
   * Indexes of the columns for the text, in the requested order; undefined for all columns that are not for the
   * metadata.
   */
  include: number[] | undefined;
}

/** `first` is the header, or the first row of a file without one. Throws AppError `invalid_csv_options`. */
function chooseColumns(
  first: readonly string[],
  hasHeader: boolean,
  { metaColumns, includeColumns }: CsvOptions,
): Columns {
  const names = hasHeader ? columnNames(first) : first.map((_, i) => columnName(i));
  const indicesOf = (list: string): number[] => [
    ...new Set(entriesOf(list).map((entry) => indexOf(entry, names, hasHeader))),
  ];
  const include = indicesOf(includeColumns);
  return { hasHeader, names, meta: indicesOf(metaColumns), include: include.length > 0 ? include : undefined };
}

const entriesOf = (list: string): string[] =>
  list
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');

/** A name takes precedence over an index, because a column may be named 2024. */
function indexOf(entry: string, names: readonly string[], hasHeader: boolean): number {
  const named = hasHeader ? names.indexOf(entry) : -1;
  if (named >= 0) return named;
  const told = JSON.stringify(entry.slice(0, 100));
  if (!/^\d+$/.test(entry))
    throw new AppError(
      'invalid_csv_options',
      hasHeader
        ? `There is no column ${told}.`
        : `The file has no header, so column ${told} has to be an index from 1.`,
    );
  const index = Number(entry);
  if (index < 1 || index > names.length)
    throw new AppError('invalid_csv_options', `Column ${told} is out of range: the file has ${names.length} columns.`);
  return index - 1;
}

const CANDIDATES = [',', ';', '\t', '|'] as const;
const LINES_MAX = 20;
const HEAD_CHARACTERS = 64 * 1024;

/**
 * Detects the delimiter: the candidate whose lowest count over the first lines, outside of quotes, is highest; the
 * comma if none occurs.
 */
function sniffDelimiter(text: string): string {
  const head = text.slice(0, HEAD_CHARACTERS).replace(/"[^"]*("|$)/g, '');
  const all = head.split(/\r\n|\n|\r/).filter((line) => line.trim() !== '');
  // The last line may be cut off, so it is ignored unless it is the only one.
  const lines = all.slice(0, Math.max(1, Math.min(LINES_MAX, all.length - 1)));
  const least = (candidate: string): number => Math.min(...lines.map((line) => line.split(candidate).length - 1));
  const counts = CANDIDATES.map((candidate) => ({ candidate, count: lines.length > 0 ? least(candidate) : 0 }));
  const inFirst = CANDIDATES.map((candidate) => ({ candidate, count: (lines[0] ?? '').split(candidate).length - 1 }));
  const best = most(counts);
  return best.count > 0 ? best.candidate : most(inFirst).candidate;
}

/** The first entry with the highest count. */
const most = (counts: { candidate: string; count: number }[]): { candidate: string; count: number } =>
  counts.reduce((best, one) => (one.count > best.count ? one : best));

const SLICE_CHARACTERS = 256 * 1024;

/**
 * Numbers rows from 1 below the header and skips empty lines. Rows may have different lengths: missing cells are blank,
 * surplus ones belong to columns `col_N`. Throws AppError `invalid_csv_options`, and `file_unreadable` if a quote is
 * not closed.
 */
export async function readCsv(
  text: string,
  delimiter: string | undefined,
  options: CsvOptions,
  budget: Budget,
): Promise<Units> {
  const units: Unit[] = [];
  let first: string[] | undefined;
  let columns: Columns | undefined;
  let row = 0;
  const add = (cells: string[]): void => {
    const unit = rowUnit(cells, row++, columns as Columns, budget);
    if (unit) units.push(unit);
  };
  const open = (header: string[], hasHeader: boolean): void => {
    columns = chooseColumns(header, hasHeader, options);
    if (!hasHeader) add(header);
  };
  for await (const cells of records(text, delimiter ?? sniffDelimiter(text))) {
    if (first === undefined) first = cells;
    else {
      if (!columns) open(first, options.header === 'yes' || (options.header === 'auto' && looksLikeHeader(first)));
      add(cells);
    }
  }
  // A single row is a header only if the caller says so.
  if (first && !columns) open(first, options.header === 'yes');
  return { kind: 'units', units, areRows: true };
}

async function* records(text: string, delimiter: string): AsyncGenerator<string[]> {
  const parser = parse({
    delimiter,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
  });
  try {
    yield* Readable.from(slices(text)).pipe(parser) as AsyncIterable<string[]>;
  } catch (error) {
    throw error instanceof AppError ? error : new AppError('file_unreadable');
  }
}

function* slices(text: string): Generator<string> {
  for (let at = 0; at < text.length; at += SLICE_CHARACTERS) yield text.slice(at, at + SLICE_CHARACTERS);
}

/** Returns undefined if the requested cells of the row are blank. */
function rowUnit(
  cells: readonly string[],
  row: number,
  { names, meta, include, hasHeader }: Columns,
  budget: Budget,
): Unit | undefined {
  const width = Math.max(cells.length, names.length);
  const wanted = include ?? Array.from({ length: width }, (_, i) => i).filter((i) => !meta.includes(i));
  if (wanted.every((i) => (cells[i] ?? '').trim() === '')) return undefined;
  const text = wanted.map((i) => cellLine(names, i, cells[i] ?? '')).join('\n');
  const fields = Object.fromEntries(meta.map((i) => [names[i] as string, cells[i] ?? '']));
  return { path: `row_${row}`, text: budget.spendText(text), meta: { row: row + 1, has_header: hasHeader }, fields };
}
