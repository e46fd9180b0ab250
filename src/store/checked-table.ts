// A table whose values stand behind checksums: what is put is sealed, what is read is checked, and damage is thrown,
// never answered. Made by lmdb.ts around each table of a transaction.
import type { Checksum } from './checksum.js';
import type { RawTable, Table } from './tables.js';
import type { Entry } from './walk.js';

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
