// The columns of a CSV file that a caller asked for: by name or by index from 1.
// Pure. Used by csv.ts in the batch worker.
import { AppError } from '../../../src/contract/errors.js';
import type { CsvOptions } from '../../../src/contract/prepare-messages.js';
import { columnName, columnNames } from './table.js';

export interface Columns {
  hasHeader: boolean;
  names: string[];
  /** Columns for the metadata, from 0. */
  meta: number[];
  /** Columns for the text, in the order asked for; undefined for all but those of the metadata. */
  include: number[] | undefined;
}

/** `first` is the header, or the first row of a file without one. Throws AppError `invalid_csv_options`. */
export function chooseColumns(
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

/** A name rules over an index: a column may be called 2024. */
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
