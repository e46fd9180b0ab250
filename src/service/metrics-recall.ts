// Recall of the searches that were checked (recall-sampler.ts), as Prometheus reads it: over all collections of a
// precision, and of the worst of them. Of a collection the latest checks count most. No label names a tenant. Front
// thread.
import { Counter, Gauge, type Registry } from 'prom-client';
import type { CollectionId } from '../contract/ids.js';
import { PRECISIONS, type Precision } from '../contract/precision.js';
import type { Recalled } from '../rank/recall.js';

/** Collections that are remembered: those checked last. */
const COLLECTIONS_MAX = 256;
/** With so many checks the older ones count half. */
const CHECKS_MAX = 64;
/** A collection with fewer neighbours looked for says nothing of the worst. */
const WANTED_MIN = 50;

interface Window extends Recalled {
  readonly precision: Precision;
  readonly checks: number;
}

export class RecallMetrics {
  private readonly windows = new Map<CollectionId, Window>();
  private readonly checks: Counter<'precision'>;

  constructor(registry: Registry) {
    const registers = [registry];
    const labelNames = ['precision'] as const;
    this.checks = new Counter({
      name: 'sheaf_recall_checks_total',
      help: 'Searches that were made again exactly, to see what they had found.',
      labelNames,
      registers,
    });
    this.gauge(
      registry,
      'sheaf_recall_at_k',
      'Share of the true k nearest that searches found, by the latest checks; k is that of each search.',
      (windows) => share(added(windows)),
    );
    this.gauge(registry, 'sheaf_recall_at_k_lowest', 'The same of the collection that has least.', (windows) =>
      Math.min(...windows.filter(({ wanted }) => wanted >= WANTED_MIN).map(share)),
    );
  }

  checked(id: CollectionId, precision: Precision, recalled: Recalled): void {
    this.checks.inc({ precision });
    const before = this.windows.get(id) ?? { found: 0, wanted: 0, checks: 0 };
    const weight = before.checks >= CHECKS_MAX ? 0.5 : 1;
    this.windows.delete(id);
    this.windows.set(id, {
      precision,
      checks: before.checks * weight + 1,
      found: before.found * weight + recalled.found,
      wanted: before.wanted * weight + recalled.wanted,
    });
    const [oldest] = this.windows.keys();
    if (this.windows.size > COLLECTIONS_MAX && oldest !== undefined) this.windows.delete(oldest);
  }

  reset(): void {
    this.checks.reset();
    this.windows.clear();
  }

  /** Has no value for a precision that nothing was checked of. */
  private gauge(registry: Registry, name: string, help: string, read: (windows: Window[]) => number): void {
    const { windows } = this;
    new Gauge({
      name,
      help,
      labelNames: ['precision'],
      registers: [registry],
      collect() {
        this.reset();
        for (const precision of PRECISIONS) {
          const value = read([...windows.values()].filter((window) => window.precision === precision));
          if (Number.isFinite(value)) this.set({ precision }, value);
        }
      },
    });
  }
}

const share = ({ found, wanted }: Recalled): number => found / wanted;
const added = (windows: readonly Recalled[]): Recalled =>
  windows.reduce((sum, { found, wanted }) => ({ found: sum.found + found, wanted: sum.wanted + wanted }), {
    found: 0,
    wanted: 0,
  });
