// Rows of CSV and TSV by csv-parse, streamed: a unit a row, with the columns that the caller asked for.
// Called by extract.ts in the batch worker.
import { Readable } from 'node:stream';
import { parse } from 'csv-parse';
import { AppError } from '../../../src/contract/errors.js';
import type { CsvOptions } from '../../../src/contract/prepare-messages.js';
import type { Budget } from './budget.js';
import { chooseColumns, type Columns } from './csv-columns.js';
import type { Unit, Units } from './extracted.js';
import { sniffDelimiter } from './csv-delimiter.js';
import { cellLine, looksLikeHeader } from './table.js';

const SLICE_CHARACTERS = 256 * 1024;

/**
 * Rows count from 1 below the header; empty lines are none. Rows may be ragged: what is missing is blank, what is over
 * goes into columns `col_N`. Throws AppError `invalid_csv_options`, and `file_unreadable` where a quote is never
 * closed.
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
  // A row that is alone is a header only where the caller says so.
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

/** Undefined where nothing of the row is left to read. */
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
