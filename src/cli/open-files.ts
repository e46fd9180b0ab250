// How many files and sockets the process may have open: where there are too few of them, Node ends wherever it happens to
// open one more. The entry point looks before it loads anything else.
import { readFileSync } from 'node:fs';

/** What Node has open by itself, and what loading the program takes beside it. */
export const LOADING_DESCRIPTORS = 48;
/** Connections, uploads, and what is opened for a moment. */
const SPARE_DESCRIPTORS = 32;
/** Its store, and its thread. */
const PER_SHARD = 10;
const PER_THREAD = 5;

/** Infinity where the system does not tell. */
export function descriptorLimit(): number {
  try {
    return softLimit(readFileSync('/proc/self/limits', 'utf8'), 'Max open files');
  } catch {
    return Infinity;
  }
}

/** `limits` is the content of /proc/self/limits. Infinity for none. */
export function softLimit(limits: string, name: string): number {
  const [, soft] = new RegExp(`^${name} +(\\d+)`, 'm').exec(limits) ?? [];
  return soft === undefined ? Infinity : Number(soft);
}

export const serveDescriptors = (shards: number, otherThreads: number): number =>
  SPARE_DESCRIPTORS + LOADING_DESCRIPTORS + PER_SHARD * shards + PER_THREAD * otherThreads;

export const tooFew = (limit: number, wanted: number): string =>
  `sheaf: at most ${limit} files and sockets may be open here, and at least ${wanted} are needed: raise the limit (ulimit -n 4096; LimitNOFILE= of systemd).`;
