// Converts table rows to text: column names, detection of a header row, and a `column: value` line per cell. Pure
// functions.

/** A number, amount, date or time, which occurs in the cells of a column rather than in its header. */
const VALUE = /^[-+(]?[$€£¥]?\s?[\d.,]*\d[\d.,]*\s?[%)€]?$|^\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ]\d|$)|^\d{1,2}:\d{2}/;
const NAME_CHARACTERS_MAX = 100;

/**
 * The rule for header `auto`: the first row is a header if no cell is a value, contains a line break or is longer than
 * a name, and at least one is not blank. The caller checks that there are more rows.
 */
export function looksLikeHeader(cells: readonly string[]): boolean {
  return (
    cells.some((cell) => cell.trim() !== '') &&
    cells.every((cell) => cell.length <= NAME_CHARACTERS_MAX && !cell.includes('\n') && !VALUE.test(cell.trim()))
  );
}

/** A blank name becomes `col_N`, with N counting from 1; repeated names become `date_2`, `date_3`. */
export function columnNames(header: readonly string[]): string[] {
  const taken = new Set<string>();
  return header.map((cell, i) => {
    const name = cell.trim() || columnName(i);
    let free = name;
    for (let n = 2; taken.has(free); n++) free = `${name}_${n}`;
    taken.add(free);
    return free;
  });
}

/** The name of an unnamed column with the given index from 0. */
export const columnName = (i: number): string => `col_${i + 1}`;

export const cellLine = (names: readonly string[], i: number, value: string): string =>
  `${names[i] ?? columnName(i)}: ${value}`;
