// The writers of the torture program, one a slot, all at once. They end when they are told to, or when the server stops
// answering. Used by load/torture.ts and load/operations.ts.
import { createPrng, type Prng } from '../../../src/base/prng.js';
import { SheafClient } from '../../../src/client/client.js';
import { SheafError, SheafUnreachable } from '../../../src/client/errors.js';
import type { Lane } from './change.js';
import { checkSlot } from './check.js';
import { step } from './operations.js';
import type { Tally } from './tally.js';
import type { Slot } from './world.js';

export interface Work {
  url: string;
  slots: readonly Slot[];
  prng: Prng;
  seed: number;
  tally: Tally;
}

/** Each writer draws from a generator of its own: what it does depends on nothing but the seed and the answers. */
function lanesOf({ url, slots, prng, seed, tally }: Work): Lane[] {
  const client = new SheafClient({ url });
  return slots.map((slot) => ({ client, slot, prng: createPrng(prng.int(2 ** 31)), seed, tally }));
}

export async function workUntil(work: Work, isOver: () => boolean): Promise<void> {
  await Promise.all(
    lanesOf(work).map(async (lane) => {
      while (!isOver() && lane.tally.violations.length === 0) if (!(await isAnswered(lane))) return;
    }),
  );
}

async function isAnswered(lane: Lane): Promise<boolean> {
  try {
    await step(lane);
    return true;
  } catch (error) {
    if (error instanceof SheafUnreachable) return false;
    lane.tally.violations.push(
      `${told(lane.slot)}: ${error instanceof SheafError ? `refused with ${error.status} ${error.code}: ${error.message}` : `unexpected: ${(error as Error).stack}`}`,
    );
    lane.slot.forget();
    return false;
  }
}

export async function checkAll(work: Work, when: string): Promise<void> {
  await Promise.all(
    lanesOf(work).map((lane) =>
      checkSlot(lane, when).catch((error: unknown) => {
        lane.tally.violations.push(
          `${told(lane.slot)} ${when}: ${error instanceof SheafError ? `${error.status} ${error.stack}` : String((error as Error).stack)}`,
        );
      }),
    ),
  );
}

function told({ tenant, prefix, state, pending }: Slot): string {
  const change =
    pending && 'state' in pending
      ? { name: pending.state.name, reindexing: pending.state.reindexing }
      : pending && Object.fromEntries(pending.documents);
  return `${tenant}/${state.name ?? prefix} (${JSON.stringify(state.reindexing)}, under way: ${JSON.stringify(change)})`;
}
