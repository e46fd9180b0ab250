// Use case: ingest a JSON batch, `{"documents":[…]}`. All items are prepared before the first is stored: a body that is
// no JSON is refused whole, and nothing of it is done. Called by the batch endpoint; front thread, which never parses
// the body.
import type { CollectionName, Tenant } from '../contract/ids.js';
import type { Context } from './context.js';
import { BatchIngest } from './ingest-batch.js';
import type { ItemOutcome } from './item-outcomes.js';

/** Slices of one batch that are worked on at a time. */
const SLICES_UNDERWAY_MAX = 4;

/**
 * The outcomes of the items, in order, as the slices have them. Throws AppError where the body is no batch. `signal`:
 * as in BatchIngest.
 */
export async function ingestJsonBatch(
  context: Context,
  tenant: Tenant,
  name: CollectionName,
  bytes: Uint8Array,
  signal?: AbortSignal,
): Promise<ItemOutcome[][]> {
  const ingest = new BatchIngest(context, tenant, name, signal);
  const slices = await context.batch.splitBatch({ bytes, itemsMax: context.batchLimits.itemsMax }, tenant, signal);
  const prepared = await eachInTurn(slices, (slice) => ingest.prepare(slice, 'batch'));
  return eachInTurn(prepared, (slice) => ingest.store(slice, ingest.takeTurn()));
}

/** What `work` answers for each item; started in order, a few at a time. */
async function eachInTurn<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = new Array(items.length);
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      const at = next++;
      results[at] = await work(items[at] as T);
    }
  };
  await Promise.all(Array.from({ length: Math.min(SLICES_UNDERWAY_MAX, items.length) }, worker));
  return results;
}
