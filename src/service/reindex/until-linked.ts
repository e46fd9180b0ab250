// Waits until the graph of a space that has been filled is there, but for what is written meanwhile: before that,
// searches of it scan. Called by run-job.ts before the gate, and by restores before the switch; front thread, where it
// only asks shards.
import { setTimeout as sleep } from 'node:timers/promises';
import { refOf } from '../catalog.js';
import type { Copy } from './copy.js';
import { retrying } from './retrying.js';

/** Of the rows: about what a search scans beside its walk without being slower for it. */
const UNLINKED_SHARE_MAX = 0.01;
const RECHECK_MS = 200;
/** Where no row is linked in so long, memory has no room for links; the space is as good as it gets. */
const STANDSTILL_MS = 300_000;

type Filled = Pick<Copy, 'context' | 'twin' | 'signal' | 'check'>;

/** `told`: how many rows wait, where any do, each time that it is another number. Throws what `check` throws. */
export async function untilLinked(copy: Filled, told: (unlinked: number) => void): Promise<void> {
  let last = 0;
  let changedAtMs = performance.now();
  for (;;) {
    copy.check();
    const { unlinked, isDone } = await stateOf(copy);
    if (unlinked !== last) {
      told(unlinked);
      [last, changedAtMs] = [unlinked, performance.now()];
    }
    if (isDone) return;
    if (performance.now() - changedAtMs > STANDSTILL_MS)
      return copy.context.log.warn(
        { collection: copy.twin.id, unlinked },
        'the graph of a new space does not grow: it is searched as it is',
      );
    await sleep(RECHECK_MS, undefined, { signal: copy.signal }).catch(() => undefined);
  }
}

/** Of all shards together. */
async function stateOf({ context: { shards }, twin, signal }: Filled): Promise<{ unlinked: number; isDone: boolean }> {
  const states = await retrying(() => Promise.all(shards.askAll('linking', { collection: refOf(twin) })), signal);
  const sum = (of: 'rows' | 'unlinked'): number => states.reduce((total, state) => total + (state?.[of] ?? 0), 0);
  const unlinked = sum('unlinked');
  const isQuiet = states.every((state) => state !== null && !state.isTended);
  return { unlinked, isDone: isQuiet && unlinked <= UNLINKED_SHARE_MAX * sum('rows') };
}
