// What keeps reads and writes of rows, which are not atomic, on their side of a look at a stamp or a change of it, on
// processors that reorder more than x86 does (README.md, rule 11). A read-modify-write of the thread's own scratch, for
// what the compiler makes of `atomic.fence` does not validate. Any thread.
import { FENCE } from '../layout';

/**
 * What this thread read before it, it has read before any atomic load behind it; what it writes behind it, nobody sees
 * before any atomic store ahead of it.
 * @inline
 */
export function fence(scratch: usize): void {
  atomic.add<u32>(scratch, 1, FENCE);
}
