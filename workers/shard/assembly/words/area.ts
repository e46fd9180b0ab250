// A piece of the arena that grows with what is put into it: address, bytes it has room for, bytes in use. Three words
// of a larger block; every variable part of the index of words is one. Used by the owner's thread, and by each thread
// in its scratch.
import { allocate, linesOf, release, shrink } from '../arena';
import { retire } from '../epochs';

@unmanaged
export class Area {
  at: u32;
  bytes: u32;
  used: u32;
}

/**
 * Room for `more` bytes behind those in use, which are kept, also for who still reads them. False, and nothing changed,
 * when memory is full.
 */
export function reserve(area: Area, more: usize): bool {
  const needed = <usize>area.used + more;
  if (needed <= <usize>area.bytes) return true;
  let bytes = max(needed, <usize>area.bytes + (<usize>area.bytes >> 1));
  let at = allocate(bytes);
  if (!at) {
    bytes = needed;
    at = allocate(bytes);
  }
  if (!at) return false;
  memory.copy(at, area.at, area.used);
  const old: usize = area.at;
  atomic.store<u32>(changetype<usize>(area), <u32>at);
  area.bytes = <u32>bytes;
  retire(old);
  return true;
}

/** Gives back an area that readers may be reading: its address stays, for them. */
export function retireArea(area: Area): void {
  retire(area.at);
}

/** Gives back an area that no other thread has seen. */
export function releaseArea(area: Area): void {
  release(area.at);
  area.at = 0;
  area.bytes = 0;
  area.used = 0;
}

/** Gives back what is not in use. */
export function trimArea(area: Area): void {
  if (!area.at) return;
  if (!area.used) return releaseArea(area);
  shrink(area.at, area.used);
  area.bytes = area.used;
}

export function areaLines(area: Area): u32 {
  return area.at ? linesOf(area.at) : 0;
}
