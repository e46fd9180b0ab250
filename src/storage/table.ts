// A table of byte keys and byte values inside a transaction, in three layers: as node-lmdb has it; with failures
// reported to the disk state and turned into DamagedRecord; and with checksums on values. Also iteration over entries,
// and operations on whole tables. Used on the thread that has the transaction; only lmdb.ts knows the library.
import { CHECKSUM_BYTES, type Checksum, DamagedRecord } from './damage.js';
import type { DiskState } from './disk.js';

/** The part of an LMDB cursor that iteration needs. */
export interface ByteCursor {
  goToFirst(): Buffer | null;
  goToLast(): Buffer | null;
  goToNext(): Buffer | null;
  goToPrev(): Buffer | null;
  goToRange(key: Buffer): Buffer | null;
  getCurrentBinary(): Buffer | null;
  close(): void;
}

interface Entry {
  key: Buffer;
  value: Buffer;
}

interface KeyAndLength {
  key: Buffer;
  /** Bytes of the value. */
  length: number;
}

const entriesFrom = (open: CursorMaker, prefix: Buffer, from: Buffer): Generator<Entry> =>
  walk(open, prefix, (cursor) => firstFrom(cursor, from), 'goToNext', entryAt);
const keysFrom = (open: CursorMaker, prefix: Buffer, from: Buffer): Generator<Buffer> =>
  walk(
    open,
    prefix,
    (cursor) => firstFrom(cursor, from),
    'goToNext',
    (_, key) => key,
  );
const keysBelow = (open: CursorMaker, prefix: Buffer, before: Buffer): Generator<Buffer> =>
  walk(
    open,
    prefix,
    (cursor) => lastBelow(cursor, before),
    'goToPrev',
    (_, key) => key,
  );
const lengthsFrom = (open: CursorMaker, prefix: Buffer): Generator<KeyAndLength> =>
  walk(
    open,
    prefix,
    (cursor) => firstFrom(cursor, prefix),
    'goToNext',
    (cursor, key) => ({ key, length: cursor.getCurrentBinary()?.length ?? 0 }),
  );
const entriesBelow = (open: CursorMaker, prefix: Buffer, before: Buffer): Generator<Entry> =>
  walk(open, prefix, (cursor) => lastBelow(cursor, before), 'goToPrev', entryAt);

type CursorMaker = () => ByteCursor;
type Step = 'goToNext' | 'goToPrev';
/** Expected order of a key and the next one, as Buffer.compare returns it. */
const ORDER: Readonly<Record<Step, number>> = { goToNext: -1, goToPrev: 1 };
type Start = (cursor: ByteCursor) => Buffer | null;

const entryAt = (cursor: ByteCursor, key: Buffer): Entry => ({
  key,
  value: cursor.getCurrentBinary() ?? Buffer.alloc(0),
});
const firstFrom = (cursor: ByteCursor, from: Buffer): Buffer | null =>
  from.length === 0 ? cursor.goToFirst() : cursor.goToRange(from);
const lastBelow = (cursor: ByteCursor, before: Buffer): Buffer | null =>
  cursor.goToRange(before) === null ? cursor.goToLast() : cursor.goToPrev();

/** Compares without creating a view of the key, which iteration over a whole table would do for every entry. */
const startsWith = (key: Buffer, prefix: Buffer): boolean =>
  prefix.length === 0 || (key.length >= prefix.length && key.compare(prefix, 0, prefix.length, 0, prefix.length) === 0);

/** The library returns something other than a buffer for an empty key. */
const isNext = (before: Buffer | undefined, key: Buffer, step: Step): boolean =>
  key instanceof Uint8Array && (!before || Buffer.compare(before, key) === ORDER[step]);

/**
 * Iterates over entries in key order, forwards or backwards, within a prefix. Iteration starts when the first entry is
 * requested, and its cursor is closed in every case when it ends. Who stops early without a loop must call `return`: LMDB
 * frees the open cursors of a write transaction itself, and the garbage collector would free them again. LMDB follows
 * pages without checking them: keys out of order come from a damaged page, which would otherwise end the iteration early
 * and hide what follows. Throws DamagedRecord.
 */
function* walk<T>(
  open: CursorMaker,
  prefix: Buffer,
  start: Start,
  step: Step,
  read: (cursor: ByteCursor, key: Buffer) => T,
): Generator<T> {
  const cursor = open();
  try {
    let before: Buffer | undefined;
    for (let key = start(cursor); key !== null; key = cursor[step]()) {
      if (!isNext(before, key, step)) throw new DamagedRecord('keys of the store are out of order');
      if (!startsWith(key, prefix)) return;
      yield read(cursor, key);
      before = key;
    }
  } finally {
    cursor.close();
  }
}

/** A table inside a transaction, with bytes as they are stored. Keys have 1 to 511 bytes. */
interface RawTable {
  get(key: Buffer): Buffer | undefined;
  has(key: Buffer): boolean;
  put(key: Buffer, value: Buffer): void;
  delete(key: Buffer): boolean;
  /** Deletes a key that this transaction has read. Throws if there is none. */
  deleteRead(key: Buffer): void;
  /**
   * Entries whose key starts with `prefix`, in key order, from `from` on if given. Nothing may be written during
   * iteration.
   */
  entries(prefix: Buffer, from?: Buffer): Generator<{ key: Buffer; value: Buffer }>;
  /** Like `entries`, without reading the values. */
  keys(prefix: Buffer, from?: Buffer): Generator<Buffer>;
  /** Like `entries`, with the lengths of the values, whose checksums are not checked. */
  lengths(prefix: Buffer): Generator<KeyAndLength>;
  /** The keys that `entriesBelow` has. */
  keysBelow(prefix: Buffer, before: Buffer): Generator<Buffer>;
  /** Entries whose key starts with `prefix`, in descending order from the last one below `before`. */
  entriesBelow(prefix: Buffer, before: Buffer): Generator<{ key: Buffer; value: Buffer }>;
}

/** A table inside a transaction, with checksums: reading a value throws DamagedRecord if its checksum does not fit. */
export interface Table extends RawTable {
  /** Like `entries`, but yields a damaged entry without a value instead of throwing. */
  inspect(prefix: Buffer, from?: Buffer): Generator<{ key: Buffer; value: Buffer | undefined }>;
}

export type Tables<Names extends string> = Record<Names, Table>;

/** Options for opening tables and cursors. */
export const BYTE_KEYS = { keyIsBuffer: true } as const;

/**
 * The part of an LMDB transaction that a table needs. No options are passed: a key that is a buffer is recognized as
 * such, and looking up each option by name took a third of the time of logging a search (`load search vectors`).
 */
export interface ByteTxn<Handle> {
  getBinary(handle: Handle, key: Buffer): Buffer | null;
  putBinary(handle: Handle, key: Buffer, value: Buffer): void;
  del(handle: Handle, key: Buffer): void;
}

/** A table as node-lmdb has it, with bytes as they are stored. */
export function openTable<Handle>(txn: ByteTxn<Handle>, handle: Handle, openCursor: () => ByteCursor): RawTable {
  return {
    get: (key) => txn.getBinary(handle, key) ?? undefined,
    has: (key) => txn.getBinary(handle, key) !== null,
    put: (key, value) => txn.putBinary(handle, key, value),
    delete: (key) => remove(txn, handle, key),
    deleteRead: (key) => txn.del(handle, key),
    entries: (prefix, from = prefix) => entriesFrom(openCursor, prefix, from),
    keys: (prefix, from = prefix) => keysFrom(openCursor, prefix, from),
    lengths: (prefix) => lengthsFrom(openCursor, prefix),
    keysBelow: (prefix, before) => keysBelow(openCursor, prefix, before),
    entriesBelow: (prefix, before) => entriesBelow(openCursor, prefix, before),
  };
}

/**
 * Looks the key up first: the library throws if there is none, and an exception takes a hundred times as long as a
 * lookup.
 */
function remove<Handle>(txn: ByteTxn<Handle>, handle: Handle, key: Buffer): boolean {
  if (txn.getBinary(handle, key) === null) return false;
  txn.del(handle, key);
  return true;
}

/**
 * A table that reports its failures: malformed pages of LMDB become damage of the collection that was asked for instead
 * of an internal error, in any transaction.
 */
export function reportingTable(raw: RawTable, disk: DiskState): RawTable {
  return {
    put: (key, value) => told(disk, () => raw.put(key, value)),
    delete: (key) => told(disk, () => raw.delete(key)),
    deleteRead: (key) => told(disk, () => raw.deleteRead(key)),
    get: (key) => told(disk, () => raw.get(key)),
    has: (key) => told(disk, () => raw.has(key)),
    entries: (prefix, from) => reportingEach(disk, raw.entries(prefix, from)),
    keys: (prefix, from) => reportingEach(disk, raw.keys(prefix, from)),
    lengths: (prefix) => reportingEach(disk, raw.lengths(prefix)),
    keysBelow: (prefix, before) => reportingEach(disk, raw.keysBelow(prefix, before)),
    entriesBelow: (prefix, before) => reportingEach(disk, raw.entriesBelow(prefix, before)),
  };
}

function told<T>(disk: DiskState, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw disk.reportedWithin(error);
  }
}

/** Maps errors of the iteration only. An exception in the consumer's loop ends the generator and is not mapped. */
function* reportingEach<T>(disk: DiskState, walk: Generator<T>): Generator<T> {
  try {
    yield* walk;
  } catch (error) {
    throw disk.reportedWithin(error);
  }
}

/** A table with checksums on its values: `put` seals them, reads check them, and damage is thrown, never returned. */
export function checkedTable(raw: RawTable, checksum: Checksum): Table {
  return {
    has: raw.has,
    delete: raw.delete,
    deleteRead: raw.deleteRead,
    keys: raw.keys,
    keysBelow: raw.keysBelow,
    lengths: (prefix) => valueLengths(raw.lengths(prefix)),
    get: (key) => {
      const sealed = raw.get(key);
      return sealed && checksum.open(key, sealed);
    },
    put: (key, value) => raw.put(key, checksum.seal(key, value)),
    entries: (prefix, from) => opened(raw.entries(prefix, from), checksum),
    entriesBelow: (prefix, before) => opened(raw.entriesBelow(prefix, before), checksum),
    inspect: (prefix, from) => inspected(raw.entries(prefix, from), checksum),
  };
}

function* valueLengths(sealed: Iterable<KeyAndLength>): Generator<KeyAndLength> {
  for (const { key, length } of sealed) yield { key, length: Math.max(0, length - CHECKSUM_BYTES) };
}

function* opened(entries: Iterable<Entry>, checksum: Checksum): Generator<Entry> {
  for (const { key, value } of entries) yield { key, value: checksum.open(key, value) };
}

function* inspected(
  entries: Iterable<Entry>,
  checksum: Checksum,
): Generator<{ key: Buffer; value: Buffer | undefined }> {
  for (const { key, value } of entries) yield { key, value: checksum.valueIn(key, value) };
}

/** The empty prefix, which every key has. */
export const ALL = Buffer.alloc(0);

/** The values with valid checksums, in key order. */
export function* wholeValues(table: Table): Generator<Buffer> {
  for (const { value } of table.inspect(ALL)) if (value) yield value;
}

/** Whether all values have valid checksums. */
export const isWhole = (table: Table): boolean => [...table.inspect(ALL)].every(({ value }) => value !== undefined);

/** Whether a table has no entries. Its cursor is closed, which an iterator that is asked for one entry would leave open. */
export function isEmpty(table: Pick<Table, 'keys'>): boolean {
  for (const _ of table.keys(ALL)) return false;
  return true;
}

/** Deletes all entries of a table. */
export function removeAll(table: Table): void {
  for (const key of [...table.keys(ALL)]) table.delete(key);
}

/** The first `max` of the items, at least one of which is wanted; their cursor is closed then. */
export function take<T>(items: Generator<T>, max: number): T[] {
  const taken: T[] = [];
  for (const item of items) if (taken.push(item) === max) break;
  return taken;
}
