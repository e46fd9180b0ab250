// A table of a transaction as node-lmdb has it, bytes as they are stored. Made by lmdb.ts, which alone knows the
// library and gives this file the transaction, the table's handle and a maker of cursors.
import type { RawTable } from './tables.js';
import { entriesBelow, entriesFrom, keysFrom, type ByteCursor } from './walk.js';

/** Of tables and cursors, when they are made. */
export const BYTE_KEYS = { keyIsBuffer: true } as const;

/**
 * As far as a table needs it. Without options: a key that is a buffer is taken for one, and to look for each option by
 * its name was a third of what logging a search took (load/search-vectors.ts).
 */
export interface ByteTxn<Handle> {
  getBinary(handle: Handle, key: Buffer): Buffer | null;
  putBinary(handle: Handle, key: Buffer, value: Buffer): void;
  del(handle: Handle, key: Buffer): void;
}

export function openTable<Handle>(txn: ByteTxn<Handle>, handle: Handle, openCursor: () => ByteCursor): RawTable {
  return {
    get: (key) => txn.getBinary(handle, key) ?? undefined,
    has: (key) => txn.getBinary(handle, key) !== null,
    put: (key, value) => txn.putBinary(handle, key, value),
    delete: (key) => remove(txn, handle, key),
    entries: (prefix, from = prefix) => entriesFrom(openCursor, prefix, from),
    keys: (prefix) => keysFrom(openCursor, prefix),
    entriesBelow: (prefix, before) => entriesBelow(openCursor, prefix, before),
  };
}

/**
 * Looked for first: where there is nothing the library throws, and an error takes a hundred times as long as the look.
 */
function remove<Handle>(txn: ByteTxn<Handle>, handle: Handle, key: Buffer): boolean {
  if (txn.getBinary(handle, key) === null) return false;
  txn.del(handle, key);
  return true;
}
