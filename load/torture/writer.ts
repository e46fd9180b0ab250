// One change by a writer: noted before it is asked for, settled by the answer.
// Used by the operations beside this file.
import type { Prng } from '../../../src/base/prng.js';
import type { SheafClient } from '../../../src/client/client.js';
import { SheafError } from '../../../src/client/errors.js';
import type { Tally } from './tally.js';
import type { Pending, Slot, State } from './world.js';

/** One writer with its slot. */
export interface Lane {
  client: SheafClient;
  slot: Slot;
  prng: Prng;
  seed: number;
  tally: Tally;
}

/** Rejects with what `ask` rejects with: with SheafUnreachable the change stays under way. */
export async function change(
  { slot, tally }: Lane,
  pending: Pending,
  ask: () => Promise<unknown>,
  happened?: (docid: string) => boolean,
): Promise<void> {
  slot.pending = pending;
  const answered = slot.trail.asked(toldChange(pending));
  await ask().catch((error: unknown) => {
    answered(error instanceof SheafError ? error.code : String(error));
    throw error;
  });
  const refused =
    'documents' in pending ? [...pending.documents.keys()].filter((docid) => happened?.(docid) === false) : [];
  answered(refused.length > 0 ? `done, but not ${refused.join(', ')}` : 'done');
  slot.settle(happened);
  tally.acknowledged++;
}

export const changeState = (lane: Lane, wanted: Partial<State>, ask: () => Promise<unknown>): Promise<void> =>
  change(lane, { state: { ...lane.slot.state, ...wanted } }, ask);

/** The same where the server may refuse by one of these codes; then nothing has happened. Answers whether it has. */
export async function unlessRefused(lane: Lane, codes: readonly string[], work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if (!(error instanceof SheafError) || !codes.includes(error.code)) throw error;
    lane.slot.forget();
    return false;
  }
}

/** For the trail. */
export function toldChange(pending: Pending): string {
  if ('documents' in pending)
    return [...pending.documents]
      .map(([docid, made]) =>
        made ? `${docid} in revision ${made.revision} and version ${made.version}` : `${docid} deleted`,
      )
      .join(', ');
  const {
    name,
    documents,
    reindexing: { space, job },
  } = pending.state;
  return `${name ?? 'nothing'} with ${documents.size} documents in ${space ?? 'some space'}${job ? `, job ${job.id ?? 'to begin'} ${job.status}` : ''}`;
}
