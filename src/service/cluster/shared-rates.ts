// Rates of tenants over all nodes of a cluster: each node tells the others how many tokens of each tenant it has taken, and
// they take as many. So what a tenant may send in a second is what it may send to one node, but for the moment that the
// news take and for the bursts of nodes that have not seen the tenant yet. Runs on the main thread.
import type { LogStream } from '../../cluster/log-stream.js';
import { type Taken, TenantSlots, type TenantSlotsMemory } from '../tenants/tenant-slots.js';

interface SharedRatesOptions {
  readonly memory: TenantSlotsMemory;
  /** The stripe of the main thread. */
  readonly stripe: number;
  readonly stream: Pick<LogStream, 'tell' | 'onTold'>;
  /** The id of this node. */
  readonly node: string;
  /** The clock of the buckets. */
  readonly nowMs: () => number;
}

interface Told {
  readonly node: string;
  readonly taken: readonly Taken[];
}

const TELL_MS = 200;
/** Tenants in a message, which then has less than 100 kB. */
const TENANTS_TOLD = 2000;

/** Returns what ends it. */
export function shareRates({ memory, stripe, stream, node, nowMs }: SharedRatesOptions): () => void {
  const slots = new TenantSlots(memory, stripe);
  stream.onTold('taken', (what) => {
    const told = what as Told;
    if (told.node !== node) for (const each of told.taken) slots.charge(each, nowMs());
  });
  const tell = (): void => {
    const all = [...slots.taken()];
    for (let from = 0; from < all.length; from += TENANTS_TOLD)
      stream.tell('taken', { node, taken: all.slice(from, from + TENANTS_TOLD) } satisfies Told);
  };
  const timer = setInterval(tell, TELL_MS).unref();
  return () => clearInterval(timer);
}
