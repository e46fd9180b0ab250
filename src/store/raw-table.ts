// A table of a transaction as node-lmdb has it, bytes as they are stored. Made by lmdb.ts, which alone knows the library and gives this file the transaction,
// the table's handle and a maker of cursors.
import type { RawTable } from './tables.js';
import { entriesBelow, entriesFrom, keysFrom, type ByteCursor } from './walk.js';

export const BYTE_KEYS = { keyIsBuffer: true } as const;
type KeyOptions = typeof BYTE_KEYS;

/** As far as a table needs it. */
export interface ByteTxn<Handle> {
  getBinary(handle: Handle, key: Buffer, options: KeyOptions): Buffer | null;
  putBinary(handle: Handle, key: Buffer, value: Buffer, options: KeyOptions): void;
  del(handle: Handle, key: Buffer, options: KeyOptions): void;
}

export function openTable<Handle>(txn: ByteTxn<Handle>, handle: Handle, openCursor: () => ByteCursor): RawTable {
  return {
    get: (key) => txn.getBinary(handle, key, BYTE_KEYS) ?? undefined,
    has: (key) => txn.getBinary(handle, key, BYTE_KEYS) !== null,
    put: (key, value) => txn.putBinary(handle, key, value, BYTE_KEYS),
    delete: (key) => remove(txn, handle, key),
    entries: (prefix, from = prefix) => entriesFrom(openCursor, prefix, from),
    keys: (prefix) => keysFrom(openCursor, prefix),
    entriesBelow: (prefix, before) => entriesBelow(openCursor, prefix, before),
  };
}

/** Looked for first: where there is nothing the library throws, and an error takes a hundred times as long as the look. */
function remove<Handle>(txn: ByteTxn<Handle>, handle: Handle, key: Buffer): boolean {
  if (txn.getBinary(handle, key, BYTE_KEYS) === null) return false;
  txn.del(handle, key, BYTE_KEYS);
  return true;
}
