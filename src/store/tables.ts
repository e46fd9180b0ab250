// What a transaction gives its work: tables of byte keys and byte values. Types only.
// Made by lmdb.ts; used by the stores of this folder.

/** A table inside a transaction, with its bytes as they are stored. Keys are 1 to 511 bytes. */
export interface RawTable {
  get(key: Buffer): Buffer | undefined;
  has(key: Buffer): boolean;
  put(key: Buffer, value: Buffer): void;
  delete(key: Buffer): boolean;
  /**
   * Entries whose key starts with `prefix`, in key order, from `from` on where given. Nothing may be written meanwhile.
   */
  entries(prefix: Buffer, from?: Buffer): Generator<{ key: Buffer; value: Buffer }>;
  /** Like `entries`, without reading the values. */
  keys(prefix: Buffer): Generator<Buffer>;
  /** Entries whose key starts with `prefix`, from the last one below `before` backwards. */
  entriesBelow(prefix: Buffer, before: Buffer): Generator<{ key: Buffer; value: Buffer }>;
}

/** A table inside a transaction, behind checksums: what reads a value throws DamagedRecord where it does not fit. */
export interface Table extends RawTable {
  /** Like `entries`, without throwing: a damaged entry has no value. */
  inspect(prefix: Buffer): Generator<{ key: Buffer; value: Buffer | undefined }>;
}

export type Tables<Names extends string> = Record<Names, Table>;
