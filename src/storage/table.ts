// A table of byte keys and byte values inside a transaction, in three layers: as node-lmdb has it, with what fails told
// to the disk state and named as damage, and with values behind checksums. Walks over its entries, and what is done
// with all of a table at once. On the thread that has the transaction; lmdb.ts alone knows the library.
import { type Checksum, DamagedRecord } from './damage.js';
import type { DiskState } from './disk.js';

/** As far as a walk needs it. */
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

const entriesFrom = (open: CursorMaker, prefix: Buffer, from: Buffer): Generator<Entry> =>
  walk(open, prefix, (cursor) => firstFrom(cursor, from), 'goToNext', entryAt);
const keysFrom = (open: CursorMaker, prefix: Buffer): Generator<Buffer> =>
  walk(
    open,
    prefix,
    (cursor) => firstFrom(cursor, prefix),
    'goToNext',
    (_, key) => key,
  );
const entriesBelow = (open: CursorMaker, prefix: Buffer, before: Buffer): Generator<Entry> =>
  walk(open, prefix, (cursor) => lastBelow(cursor, before), 'goToPrev', entryAt);

type CursorMaker = () => ByteCursor;
type Step = 'goToNext' | 'goToPrev';
/** Of a key and the next. */
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

/** Without a view of the key, which a walk over a whole table would make for every entry. */
const startsWith = (key: Buffer, prefix: Buffer): boolean =>
  prefix.length === 0 || (key.length >= prefix.length && key.compare(prefix, 0, prefix.length, 0, prefix.length) === 0);

/** What the library makes of a key without bytes is none. */
const isNext = (before: Buffer | undefined, key: Buffer, step: Step): boolean =>
  key instanceof Uint8Array && (!before || Buffer.compare(before, key) === ORDER[step]);

/**
 * Goes over entries in the order of their keys, forwards or backwards, within a prefix. The walk begins when the first
 * entry is asked for, and its cursor is closed when it ends, however it ends. LMDB goes from page to page without a
 * look at them: keys that do not go on in their order are of a damaged one, which would end a walk early and hide what
 * is behind it.
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

/** A table inside a transaction, with its bytes as they are stored. Keys are 1 to 511 bytes. */
interface RawTable {
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

/** Of tables and cursors, when they are made. */
export const BYTE_KEYS = { keyIsBuffer: true } as const;

/**
 * As far as a table needs it. Without options: a key that is a buffer is taken for one, and to look for each option by
 * its name was a third of what logging a search took (`load search vectors`).
 */
export interface ByteTxn<Handle> {
  getBinary(handle: Handle, key: Buffer): Buffer | null;
  putBinary(handle: Handle, key: Buffer, value: Buffer): void;
  del(handle: Handle, key: Buffer): void;
}

/** A table as node-lmdb has it, bytes as they are stored. */
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

/**
 * A table that tells what it has failed with: pages of LMDB that make no sense are damage of the collection that was
 * asked for, not a fault of ours, whoever reads or writes, in whatever transaction.
 */
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

/**
 * A table whose values stand behind checksums: what is put is sealed, what is read is checked, and damage is thrown,
 * never answered.
 */
export function checkedTable(raw: RawTable, checksum: Checksum): Table {
  return {
    has: raw.has,
    delete: raw.delete,
    keys: raw.keys,
    get: (key) => {
      const sealed = raw.get(key);
      return sealed && checksum.open(key, sealed);
    },
    put: (key, value) => raw.put(key, checksum.seal(key, value)),
    entries: (prefix, from) => opened(raw.entries(prefix, from), checksum),
    entriesBelow: (prefix, before) => opened(raw.entriesBelow(prefix, before), checksum),
    inspect: (prefix) => inspected(raw.entries(prefix), checksum),
  };
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
