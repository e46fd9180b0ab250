// The table of hashes of a head: open addressing by linear probing, from the bytes of a term to its number. The owner
// adds terms; any thread looks them up, in the table whose address it loaded: one that is too small is exchanged as a
// whole.
import { allocate } from '../arena';
import { retire } from '../epochs';
import { bytesOf, Head, headTermAt } from './head';
import { equalBytes } from './terms';

const TABLE_HEAD: usize = 8;

/** The table of hashes. It is exchanged as a whole, so a look-up loads its address once. @inline */
export function tableOf(head: Head): usize {
  return atomic.load<u32>(changetype<usize>(head) + offsetof<Head>('table'));
}

/** A place of a table: a hash, and one more than the number of the term with it; 0 where it is free. @inline */
function tableAt(table: usize, place: u32): usize {
  return table + TABLE_HEAD + ((<usize>place) << 3);
}

/**
 * Address of the place of a term in a table, or of the free one where it belongs. Requires that the table has a free
 * one.
 */
export function placeOf(head: Head, table: usize, hash: u32, at: usize, length: u32): usize {
  const mask = load<u32>(table);
  let place = tableAt(table, hash & mask);
  for (let next = hash + 1; numberAt(place); place = tableAt(table, next++ & mask)) {
    if (load<u32>(place) != hash) continue;
    const term = headTermAt(head, numberAt(place) - 1);
    if (term.length == length && equalBytes(bytesOf(head, term), at, length)) break;
  }
  return place;
}

/** Written after all that it stands for. @inline */
export function numberAt(place: usize): u32 {
  return atomic.load<u32>(place, 4);
}

/** A table with a third of its places free for `terms` of them. */
export function growTable(head: Head, terms: u32): bool {
  const old: usize = head.table;
  if (old && terms + (terms >> 1) <= load<u32>(old)) return true;
  let size: u32 = 64;
  while (terms + (terms >> 1) > size - 1) size <<= 1;
  const bytes = TABLE_HEAD + ((<usize>size) << 3);
  const table = allocate(bytes);
  if (!table) return false;
  memory.fill(table, 0, bytes);
  store<u32>(table, size - 1);
  if (old) copyTable(table, old);
  atomic.store<u32>(changetype<usize>(head) + offsetof<Head>('table'), <u32>table);
  head.tableBytes = <u32>bytes;
  retire(old);
  return true;
}

function copyTable(table: usize, old: usize): void {
  const mask = load<u32>(table);
  for (let place: u32 = 0; place <= load<u32>(old); place++) {
    const pair = load<u64>(tableAt(old, place));
    if (!pair) continue;
    let to = <u32>pair & mask;
    while (load<u64>(tableAt(table, to))) to = (to + 1) & mask;
    store<u64>(tableAt(table, to), pair);
  }
}
