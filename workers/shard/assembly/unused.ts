// Free memory whose pages the system may have back: whole pages of WebAssembly within free chunks, some at a time, each
// once until the chunk changes that it lies in. From `lockUnused` to `unlockUnused` nobody allocates, so nobody uses
// what is given back meanwhile. Owner's thread only.
import { BINS } from '../layout';
import { OWNER } from '../reader-layout';
import { LINES_PER_PAGE } from './arena';
import { at, binAt, binOf, GIVEN_TO, LINES, NEXT } from './chunks';
import { lock, unlock } from './lock';

/** 2 MiB, as a huge page has. */
const PAGES_MAX: u32 = 32;

/**
 * Locks the allocator and answers the first of some free pages << 8 | their number; 0, and nothing is locked, where
 * there are none.
 */
export function lockUnused(): u32 {
  if (!lock(OWNER)) return 0;
  for (let bin = binOf(LINES_PER_PAGE); bin < <u32>BINS; bin++) {
    for (let chunk = load<u32>(binAt(bin)); chunk; chunk = load<u32>(at(chunk), NEXT)) {
      const pages = takePages(chunk);
      if (pages) return pages;
    }
  }
  unlock();
  return 0;
}

export function unlockUnused(): void {
  unlock();
}

/** The next whole pages of a free chunk, its header left out; 0 behind the last ones. */
function takePages(chunk: u32): u32 {
  const from = max(chunk + 1, load<u32>(at(chunk), GIVEN_TO));
  const first = (from + LINES_PER_PAGE - 1) / LINES_PER_PAGE;
  const end = min((chunk + load<u32>(at(chunk), LINES)) / LINES_PER_PAGE, first + PAGES_MAX);
  if (end <= first) return 0;
  store<u32>(at(chunk), end * LINES_PER_PAGE, GIVEN_TO);
  return (first << 8) | (end - first);
}
