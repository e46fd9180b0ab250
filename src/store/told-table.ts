// A table that tells what it has failed with: pages of LMDB that make no sense are damage of the collection that was
// asked for, not a fault of ours, whoever reads or writes, in whatever transaction. Made by lmdb.ts around each table
// of a transaction, on the thread that has it.
import type { DiskState } from './disk-state.js';
import type { RawTable } from './tables.js';

export function toldTable(raw: RawTable, disk: DiskState): RawTable {
  return {
    put: (key, value) => told(disk, () => raw.put(key, value)),
    delete: (key) => told(disk, () => raw.delete(key)),
    get: (key) => told(disk, () => raw.get(key)),
    has: (key) => told(disk, () => raw.has(key)),
    entries: (prefix, from) => toldEach(disk, raw.entries(prefix, from)),
    keys: (prefix) => toldEach(disk, raw.keys(prefix)),
    entriesBelow: (prefix, before) => toldEach(disk, raw.entriesBelow(prefix, before)),
  };
}

function told<T>(disk: DiskState, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw disk.toldWithin(error);
  }
}

/** Whatever those who take the entries throw goes by: it ends the walk, and is not thrown into it. */
function* toldEach<T>(disk: DiskState, walk: Generator<T>): Generator<T> {
  try {
    yield* walk;
  } catch (error) {
    throw disk.toldWithin(error);
  }
}
