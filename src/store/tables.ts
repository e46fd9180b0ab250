// What a transaction gives its work: tables of byte keys and byte values. Types only.
// Made by lmdb.ts; used by the stores of this folder.

/** A table inside a transaction. Keys are 1 to 511 bytes. */
export interface Table {
  get(key: Buffer): Buffer | undefined;
  has(key: Buffer): boolean;
  put(key: Buffer, value: Buffer): void;
  delete(key: Buffer): boolean;
  /** Entries whose key starts with `prefix`, in key order, from `from` on where given. Nothing may be written meanwhile. */
  entries(prefix: Buffer, from?: Buffer): Generator<{ key: Buffer; value: Buffer }>;
  /** Like `entries`, without reading the values. */
  keys(prefix: Buffer): Generator<Buffer>;
  /** Entries whose key starts with `prefix`, from the last one below `before` backwards. */
  entriesBelow(prefix: Buffer, before: Buffer): Generator<{ key: Buffer; value: Buffer }>;
}

export type Tables<Names extends string> = Record<Names, Table>;
