// The line between an archive process and the server that started it: notes out, orders in. A server that is gone ends
// the process, and with it the snapshots that would keep pages of the store from being used again. Archive process
// only; the other end is src/pool/archive-pool.ts.
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import type { ArchiveNote, ArchiveOrder, ArchiveTask } from '../../src/contract/archive-messages.js';

/** Resolves when the note has left this process. */
export function tell(note: ArchiveNote): Promise<void> {
  return new Promise((resolve) => {
    if (!process.connected) return resolve();
    process.send?.(note, undefined, {}, () => resolve());
  });
}

export async function nextOrder(): Promise<ArchiveOrder> {
  const [order] = (await once(process, 'message')) as [ArchiveOrder];
  return order;
}

export async function theTask(): Promise<ArchiveTask> {
  const [task] = (await once(process, 'message')) as [ArchiveTask];
  return task;
}

/** From here on the server goes first. Not while it waits for this process with writes held. */
export function yieldCpu(): void {
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
}

/** Tells a batch and waits until the server wants the next one. */
export async function hand(note: Extract<ArchiveNote, { told: 'documents' | 'queries' }>): Promise<void> {
  const taken = nextOrder();
  await tell(note);
  await taken;
}
