// What tenants and keys use of their limits, over all nodes of a cluster: each node tells the others how many tokens of each
// it has taken and how many of its requests are in progress. The others take as many tokens, and count these requests as if
// they were their own. So a limit is about the same for all nodes together as for one, but for the moment that the news take
// and for the bursts of nodes that have not seen the tenant yet. Runs on the main thread.
import type { LogStream } from '../../cluster/log-stream.js';
import { TenantSlots, type TenantSlotsMemory, type Used } from '../tenants/tenant-slots.js';

interface SharedUseOptions {
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
  readonly taken: readonly Used[];
}

const TELL_MS = 200;
/** Requests count as in progress on a node until it has not told of them for so long. */
const HEARD_MS = 2000;
/** Tenants in a message, which then has less than 100 kB. */
const TENANTS_TOLD = 2000;

interface InProgress {
  readonly inFlight: number;
  readonly heardAtMs: number;
}

/** The requests that are in progress on other nodes, by tenant and node. */
class Elsewhere {
  private readonly tenants = new Map<string, Map<string, InProgress>>();

  constructor(private readonly changed: (name: string, inFlight: number, nodes: number) => void) {}

  hear(node: string, name: string, inFlight: number, nowMs: number): void {
    const nodes = this.tenants.get(name) ?? new Map<string, InProgress>();
    if (inFlight > 0) nodes.set(node, { inFlight, heardAtMs: nowMs });
    else if (!nodes.delete(node)) return;
    this.keep(name, nodes);
  }

  /** Forgets what has not been told of for long. */
  forget(nowMs: number): void {
    for (const [name, nodes] of this.tenants) {
      const old = [...nodes].filter(([, { heardAtMs }]) => heardAtMs < nowMs - HEARD_MS);
      for (const [node] of old) nodes.delete(node);
      if (old.length > 0) this.keep(name, nodes);
    }
  }

  private keep(name: string, nodes: Map<string, InProgress>): void {
    if (nodes.size === 0) this.tenants.delete(name);
    else this.tenants.set(name, nodes);
    const inFlight = [...nodes.values()].reduce((sum, each) => sum + each.inFlight, 0);
    this.changed(name, inFlight, nodes.size);
  }
}

/** Returns what ends it. */
export function shareUse({ memory, stripe, stream, node, nowMs }: SharedUseOptions): () => void {
  const slots = new TenantSlots(memory, stripe);
  const elsewhere = new Elsewhere((name, inFlight, nodes) => slots.setElsewhere(name, inFlight, nodes));
  stream.onTold('taken', (what) => {
    const told = what as Told;
    if (told.node === node) return;
    for (const [name, tokens, inFlight = 0] of told.taken) {
      slots.charge(name, tokens, nowMs());
      elsewhere.hear(told.node, name, inFlight, nowMs());
    }
  });
  /** Tenants of which the others have been told that they have requests in progress. */
  let busy = new Set<string>();
  const tell = (): void => {
    elsewhere.forget(nowMs());
    const used = [...slots.used()];
    const before = busy;
    busy = new Set(used.filter(([, , inFlight]) => inFlight).map(([name]) => name));
    const now = new Set(used.map(([name]) => name));
    const idle = [...before].filter((name) => !now.has(name)).map((name): Used => [name, 0, 0]);
    const all = [...used, ...idle];
    for (let from = 0; from < all.length; from += TENANTS_TOLD)
      stream.tell('taken', { node, taken: all.slice(from, from + TENANTS_TOLD) } satisfies Told);
  };
  const timer = setInterval(tell, TELL_MS).unref();
  return () => clearInterval(timer);
}
