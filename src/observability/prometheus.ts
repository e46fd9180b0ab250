// Counters and histograms whose values are plain numbers until they are scraped: the library resolves labels and
// buckets anew for each value, which took more of a search than the search of a small collection (node
// dist/load/observability.js). One child for each combination of labels, made when it is first met: whoever counts
// keeps the labels bounded. Used by the other files of metrics; front thread.
import { Counter, type Registry } from 'prom-client';
import { Buckets } from '../base/buckets.js';
import { lookedUpHistogram, type Labels } from './metrics-histograms.js';
import { lookedUpLines, type FamilyOptions } from './metrics-looked-up.js';

const labelsOf = (names: readonly string[], values: readonly string[]): Labels =>
  Object.fromEntries(names.map((name, i) => [name, values[i] as string]));

export class CounterFamily {
  private readonly children = new Map<string, { sharedLabels: Labels; value: number }>();
  private readonly names: readonly string[];

  constructor(registry: Registry, options: FamilyOptions) {
    this.names = options.labelNames ?? [];
    lookedUpLines(registry, Counter, options, () => [...this.children.values()]);
  }

  inc(...values: readonly string[]): void {
    this.add(1, ...values);
  }

  /** 0 makes the child: one that is not there has no rate when it is counted for the first time. */
  add(count: number, ...values: readonly string[]): void {
    const key = values.length === 1 ? (values[0] as string) : values.join('\0');
    const known = this.children.get(key);
    if (known) known.value += count;
    else this.children.set(key, { sharedLabels: labelsOf(this.names, values), value: count });
  }

  reset(): void {
    this.children.clear();
  }
}

export class HistogramFamily {
  private readonly children = new Map<string, { labels: Labels; buckets: Buckets }>();
  private readonly names: readonly string[];

  constructor(
    registry: Registry,
    private readonly options: FamilyOptions & { bounds: readonly number[] },
  ) {
    const { children } = this;
    this.names = options.labelNames ?? [];
    lookedUpHistogram(registry, options, function* () {
      for (const { labels, buckets } of children.values())
        yield { labels, bounds: buckets.bounds, counts: buckets.counts, sum: buckets.sum };
    });
    if (this.names.length === 0) this.child();
  }

  add(value: number, ...values: readonly string[]): void {
    this.child(...values).add(value);
  }

  child(...values: readonly string[]): Buckets {
    const key = values.length === 1 ? (values[0] as string) : values.join('\0');
    const known = this.children.get(key);
    if (known) return known.buckets;
    const buckets = new Buckets(this.options.bounds);
    this.children.set(key, { labels: labelsOf(this.names, values), buckets });
    return buckets;
  }

  reset(): void {
    this.children.clear();
    if (this.names.length === 0) this.child();
  }
}
