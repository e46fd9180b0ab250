// The memory of a process that is its own: neither the files it has mapped nor code, which the system takes back at
// will. As Linux tells it. Used by load programs that tell what archives, and collections that nobody asks, take.
import { readFileSync } from 'node:fs';

/** 0 of a process that has ended. */
export function privateBytes(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const kilobytes = (field: string): number => Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1] ?? 0);
    return (kilobytes('RssAnon') + kilobytes('RssShmem')) * 1024;
  } catch {
    return 0;
  }
}
