// Rows of a table as text: names of columns, whether the first row holds them, and a `column: value` line for each
// cell. Pure.

/** A number, amount, date or time: what stands in a column rather than over it. */
const VALUE = /^[-+(]?[$€£¥]?\s?[\d.,]*\d[\d.,]*\s?[%)€]?$|^\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ]\d|$)|^\d{1,2}:\d{2}/;
const NAME_CHARACTERS_MAX = 100;

/**
 * The rule for `auto`: there are rows below, and no cell of the first is a value, a line break or longer than a name;
 * one at least is not blank.
 */
export function looksLikeHeader(cells: readonly string[]): boolean {
  return (
    cells.some((cell) => cell.trim() !== '') &&
    cells.every((cell) => cell.length <= NAME_CHARACTERS_MAX && !cell.includes('\n') && !VALUE.test(cell.trim()))
  );
}

/** A blank name is `col_N`, N counting from 1; a repeated one `date_2`, `date_3`. */
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

/** A column without a name, by its index from 0. */
export const columnName = (i: number): string => `col_${i + 1}`;

export const cellLine = (names: readonly string[], i: number, value: string): string =>
  `${names[i] ?? columnName(i)}: ${value}`;
