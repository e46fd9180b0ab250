// The writers of the torture program, one a slot, all at once. They end when they are told to, or when the server stops answering.
// Used by load/torture.ts and load/operations.ts.
import { createPrng, type Prng } from '../../../src/base/prng.js';
import type { SheafClient } from '../../../src/client/client.js';
import { SheafError, SheafUnreachable } from '../../../src/client/errors.js';
import { checkSlot } from './check.js';
import { step } from './operations.js';
import type { Slot, Tally } from './world.js';

export interface Work {
  client: SheafClient;
  slots: readonly Slot[];
  prng: Prng;
  seed: number;
  tally: Tally;
}

/** Each writer draws from a generator of its own: what it does depends on nothing but the seed and the answers. */
export async function workUntil({ client, slots, prng, seed, tally }: Work, isOver: () => boolean): Promise<void> {
  await Promise.all(
    slots.map(async (slot) => {
      const lane = { client, slot, prng: createPrng(prng.int(2 ** 31)), seed, tally };
      while (!isOver() && tally.violations.length === 0) if (!(await isAnswered(lane))) return;
    }),
  );
}

async function isAnswered(lane: Parameters<typeof step>[0]): Promise<boolean> {
  try {
    await step(lane);
    return true;
  } catch (error) {
    if (error instanceof SheafUnreachable) return false;
    lane.slot.forget();
    lane.tally.violations.push(error instanceof SheafError ? `refused with ${error.status} ${error.code}: ${error.message}` : `unexpected: ${(error as Error).stack}`);
    return false;
  }
}

export async function checkAll({ client, slots, prng, seed, tally }: Work, when: string): Promise<void> {
  await Promise.all(
    slots.map((slot) =>
      checkSlot({ client, slot, prng: createPrng(prng.int(2 ** 31)), seed, tally }, when).catch((error: unknown) => {
        tally.violations.push(`${slot.tenant}/${slot.name} (under way: ${JSON.stringify(slot.pending)}) ${when}: ${error instanceof SheafError ? `${error.status} ${error.stack}` : String((error as Error).stack)}`);
      }),
    ),
  );
}
