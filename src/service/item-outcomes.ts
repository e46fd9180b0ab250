// What became of the items of a batch: what preparing said of each, joined with what the shards said of each group.
// Pure. Used by ingest-batch.ts on the front thread.
import type { PreparedGroup, PreparedItem } from '../contract/batch-messages.js';
import { AppError } from '../contract/errors.js';
import type { DocId } from '../contract/ids.js';
import type { Outcome } from '../contract/errors.js';
import type { Stored } from './put-group.js';

/** What became of an item. */
export type ItemOutcome =
  | { ok: true; docid: DocId; chunks: number }
  | { ok: false; docid?: DocId; code: string; error: string };

/** Joins what preparing said of each item with what the shards said of each group. */
export function outcomesOf(
  items: readonly PreparedItem[],
  groups: readonly PreparedGroup[],
  stored: readonly (Stored | AppError)[],
): ItemOutcome[] {
  const outcomes = items.map(
    (item): ItemOutcome => ('error' in item ? refused(item.docid, item.error) : { ok: true, ...item }),
  );
  groups.forEach(({ places, docids }, g) => {
    const answer = stored[g];
    places.forEach((place, i) => {
      const refusal = answer instanceof AppError ? answer.toWire() : refusalIn(answer?.[i]);
      if (refusal) outcomes[place] = refused(docids[i], refusal);
    });
  });
  return outcomes;
}

function refusalIn(outcome: Outcome<unknown> | undefined): { code: string; message: string } | undefined {
  if (outcome && 'value' in outcome) return undefined;
  return outcome && 'error' in outcome ? outcome.error : new AppError('ingest_failed').toWire();
}

/** The outcome of an item that was not stored. */
export const refused = (
  docid: DocId | undefined,
  { code, message }: { code: string; message: string },
): ItemOutcome => ({
  ok: false,
  ...(docid === undefined ? {} : { docid }),
  code,
  error: message,
});
