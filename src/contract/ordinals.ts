// The arenas of a shard, and how an ordinal names one. A WebAssembly memory ends at 4 GiB, so a shard has several, its
// arenas. An ordinal as the store has it is the number of the arena and the row there; inside an arena, rows alone are
// used. Pure; used by every thread.
import type { Ordinal } from './ids.js';

/**
 * Of a shard. One that was never used costs 10 GiB of address space, 4 KiB and 0.1 ms; the first is the home, which
 * knows the others.
 */
export const ARENAS = 8;
const ROW_BITS = 28;
const ROW_MASK = 2 ** ROW_BITS - 1;

export const arenaOf = (stored: Ordinal): number => stored >>> ROW_BITS;

export const rowOf = (stored: Ordinal): Ordinal => (stored & ROW_MASK) as Ordinal;

export const storedOrdinal = (arena: number, row: Ordinal): Ordinal => (((arena << ROW_BITS) | row) >>> 0) as Ordinal;
