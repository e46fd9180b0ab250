// The cursors of a table: LMDB frees those that a write transaction leaves open, and the garbage collector frees them
// again, which ends the process. So each one is closed, however the reading ends.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Checksum } from '../../../src/storage/damage.js';
import {
  type ByteCursor,
  type Table,
  ALL,
  checkedTable,
  isEmpty,
  openTable,
  take,
} from '../../../src/storage/table.js';

const checksum = new Checksum('shard-0', 'documents');

/** A table of the given keys, and how many of its cursors are open. */
function tableOf(keys: readonly string[]): { table: Table; open: () => number } {
  let open = 0;
  const cursor = (): ByteCursor => {
    let at = -1;
    open++;
    const to = (place: number): Buffer | null => (keys[(at = place)] === undefined ? null : Buffer.from(keys[at]!));
    return {
      goToFirst: () => to(0),
      goToLast: () => to(keys.length - 1),
      goToNext: () => to(at + 1),
      goToPrev: () => to(at - 1),
      goToRange: (key) => to(keys.findIndex((one) => Buffer.compare(Buffer.from(one), key) >= 0)),
      getCurrentBinary: () => checksum.seal(Buffer.from(keys[at] as string), Buffer.from('value')),
      close: () => void open--,
    };
  };
  const txn = { getBinary: () => null, putBinary: () => undefined, del: () => undefined };
  return { table: checkedTable(openTable(txn, 0, cursor), checksum), open: () => open };
}

test('a table is empty when it has no key', () => {
  assert.equal(isEmpty(tableOf([]).table), true);
  assert.equal(isEmpty(tableOf(['a', 'b']).table), false);
});

const STOPPED_EARLY: Record<string, (table: Table) => unknown> = {
  isEmpty,
  'some entries': (table) => take(table.entries(ALL), 2),
  'some keys in descending order': (table) => take(table.keysBelow(ALL, Buffer.from('c')), 1),
  'a loop that is left': (table) => {
    for (const { value } of table.entriesBelow(ALL, Buffer.from('d'))) return value;
    return undefined;
  },
  'a loop that throws': (table) =>
    assert.throws(() => {
      for (const { key } of table.inspect(ALL)) throw new Error(String(key));
    }),
  'the first of a list': (table) => {
    const [first] = table.lengths(ALL);
    return first;
  },
};

for (const [how, read] of Object.entries(STOPPED_EARLY))
  test(`no cursor stays open behind: ${how}`, () => {
    const { table, open } = tableOf(['a', 'b', 'c', 'd']);
    assert.notEqual(read(table), null);
    assert.equal(open(), 0);
  });
