// Walks over the entries of a table in the order of their keys, forwards and backwards, within a prefix. Used by
// lmdb.ts, which makes the cursors; each is closed when its walk ends, however it ends. The walk begins when the first
// entry is asked for. LMDB goes from page to page without a look at them: keys that do not go on in their order are of
// a damaged one, which would end a walk early and hide what is behind it.
import { DamagedRecord } from './damage.js';

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

export interface Entry {
  key: Buffer;
  value: Buffer;
}

export const entriesFrom = (open: CursorMaker, prefix: Buffer, from: Buffer): Generator<Entry> =>
  walk(open, prefix, (cursor) => firstFrom(cursor, from), 'goToNext', entryAt);
export const keysFrom = (open: CursorMaker, prefix: Buffer): Generator<Buffer> =>
  walk(
    open,
    prefix,
    (cursor) => firstFrom(cursor, prefix),
    'goToNext',
    (_, key) => key,
  );
export const entriesBelow = (open: CursorMaker, prefix: Buffer, before: Buffer): Generator<Entry> =>
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
