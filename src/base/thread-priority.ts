// The priority of this thread at the operating system. On Linux it is a property of each thread, and the threads it
// starts inherit it; elsewhere it would be that of the whole process, and stays as it is. Called by the workers that
// prepare and embed documents and by those that own shards, when they start.
import { readlinkSync } from 'node:fs';
import { platform, setPriority } from 'node:os';

/** A tenth of what a thread of normal priority gets, where both want the same core (`man 7 sched`). */
const NICENESS = 10;

export function yieldToSearches(): void {
  if (platform() !== 'linux') return;
  const thread = Number(readlinkSync('/proc/thread-self').split('/').pop());
  setPriority(thread, NICENESS);
}
