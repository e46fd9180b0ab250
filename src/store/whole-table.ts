// What is done with all of a table at once, whatever its keys are. Used by the stores of this folder and by `sheaf
// check` and `sheaf repair`, inside a transaction of whoever owns the environment.
import type { Table } from './tables.js';

/** The prefix of every key. */
export const ALL = Buffer.alloc(0);

/** The values that fit their checksums, in the order of their keys. */
export function* wholeValues(table: Table): Generator<Buffer> {
  for (const { value } of table.inspect(ALL)) if (value) yield value;
}

/** Whether all of its values fit their checksums. */
export const isWhole = (table: Table): boolean => [...table.inspect(ALL)].every(({ value }) => value !== undefined);

export function removeAll(table: Table): void {
  for (const key of [...table.keys(ALL)]) table.delete(key);
}
