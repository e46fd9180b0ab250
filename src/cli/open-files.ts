// Limit of open files and sockets: with too few, Node fails wherever it happens to open one more. The entry point
// checks it before it loads anything else.
import { readFileSync } from 'node:fs';

/** Files that Node has open, and that loading the program needs. */
export const LOADING_DESCRIPTORS = 48;
/** Connections, uploads, and temporary files. */
const SPARE_DESCRIPTORS = 32;
/** Files of a shard's store and of its thread. */
const PER_SHARD = 10;
const PER_THREAD = 5;

/** Infinity if the system does not report a limit. */
export function descriptorLimit(): number {
  try {
    return softLimit(readFileSync('/proc/self/limits', 'utf8'), 'Max open files');
  } catch {
    return Infinity;
  }
}

/** `limits` is the content of /proc/self/limits. Infinity if there is no limit. */
export function softLimit(limits: string, name: string): number {
  const [, soft] = new RegExp(`^${name} +(\\d+)`, 'm').exec(limits) ?? [];
  return soft === undefined ? Infinity : Number(soft);
}

export const serveDescriptors = (shards: number, otherThreads: number): number =>
  SPARE_DESCRIPTORS + LOADING_DESCRIPTORS + PER_SHARD * shards + PER_THREAD * otherThreads;

export const tooFew = (limit: number, wanted: number): string =>
  `sheaf: the limit of open files and sockets is ${limit}, but at least ${wanted} are needed: raise the limit (ulimit -n 4096; LimitNOFILE= of systemd).`;
