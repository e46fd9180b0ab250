// Brings texts to the endpoint and each one's vector, or failure, to its job. A call that the endpoint refuses (status
// 400, 413, 422) is sent again in halves down to the texts it does not take, so that the others succeed; first a text
// that nobody can refuse tells whether texts are to blame at all. Used by openai-runner.ts; embed worker of role
// remote.
import { AppError } from '../../../src/contract/errors.js';
import { CallError } from '../remote/call-error.js';
import type { RemoteEndpoint } from '../remote/remote-endpoint.js';
import type { Item } from './embed-job.js';
import type { EmbeddingsCalls } from './embeddings-calls.js';

export interface TextDelivery {
  calls: EmbeddingsCalls;
  endpoint: RemoteEndpoint;
  /** What is left of the item's job cannot be embedded now either. */
  giveUp(item: Item, error: AppError): void;
  /** So many texts went through in each half of a call that was refused as a whole. */
  onTooMany(inputs: number): void;
}

/** For one refused call: k bad texts of n take up to 2k (log2(n / k) + 1), so 40 of 2,048 are found. */
const CALLS_MAX = 600;

/** Settles every item. Never rejects. */
export async function deliver(delivery: TextDelivery, items: readonly Item[]): Promise<void> {
  const way = delivery.calls.way;
  try {
    const refusal = await tried(delivery, items, true);
    if (refusal) await afterRefusal(delivery, items, refusal, way);
  } catch (error) {
    fail(delivery, items, error);
  }
}

/** The refusal, or undefined where every item is settled. Rejects where the endpoint is of no use. */
async function tried(
  { calls }: TextDelivery,
  items: readonly Item[],
  hasEntered: boolean,
): Promise<CallError | undefined> {
  try {
    for (const { item, vector } of await calls.embed(items, hasEntered)) {
      if (vector) item.job.settle(item.place, vector);
      else item.job.fail(item.place, new AppError('text_not_embeddable'));
    }
    return undefined;
  } catch (error) {
    if (error instanceof CallError) return error;
    throw error;
  }
}

async function afterRefusal(
  delivery: TextDelivery,
  items: readonly Item[],
  refusal: CallError,
  way: string,
): Promise<void> {
  const { calls, endpoint } = delivery;
  const blame = calls.way === way ? await calls.blame() : 'encoding';
  if (blame === 'everything') throw endpoint.unavailable(refusal.message);
  const left = { calls: CALLS_MAX };
  if (blame === 'texts') await isolate(delivery, items, left);
  else await attempt(delivery, items, left);
}

/** How many texts failed. Settles every item. */
async function attempt(delivery: TextDelivery, items: readonly Item[], left: { calls: number }): Promise<number> {
  try {
    if (left.calls-- <= 0) throw delivery.endpoint.unavailable('it refuses too many texts of one call');
    return (await tried(delivery, items, false)) ? await isolate(delivery, items, left) : 0;
  } catch (error) {
    fail(delivery, items, error);
    return items.length;
  }
}

async function isolate(delivery: TextDelivery, items: readonly Item[], left: { calls: number }): Promise<number> {
  if (items.length === 1) {
    const [{ job, place }] = items as [Item];
    job.fail(place, new AppError('text_not_embeddable'));
    return 1;
  }
  const half = Math.ceil(items.length / 2);
  const failed = await Promise.all(
    [items.slice(0, half), items.slice(half)].map((each) => attempt(delivery, each, left)),
  );
  const count = failed.reduce((sum, each) => sum + each, 0);
  if (count === 0) delivery.onTooMany(half);
  return count;
}

function fail({ giveUp }: TextDelivery, items: readonly Item[], error: unknown): void {
  for (const item of items) {
    if (!(error instanceof AppError)) item.job.break(error);
    else {
      item.job.fail(item.place, error);
      giveUp(item, error);
    }
  }
}
