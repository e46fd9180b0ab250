// Counters and histograms whose values are plain numbers until they are scraped: the library resolves labels and buckets anew for each value,
// which took more of a search than the search of a small collection (node dist/load/observability.js). One child for each combination
// of labels, made when it is first met: whoever counts keeps the labels bounded. Used by the other files of metrics; front thread.
import { Counter, Histogram, type Metric, type Registry } from 'prom-client';
import { Buckets } from '../base/buckets.js';

export interface FamilyOptions {
  name: string;
  help: string;
  labelNames?: readonly string[];
}

type Labels = Readonly<Record<string, string>>;

const labelsOf = (names: readonly string[], values: readonly string[]): Labels => Object.fromEntries(names.map((name, i) => [name, values[i] as string]));

export class CounterFamily {
  private readonly children = new Map<string, { labels: Labels; count: number }>();
  private readonly names: readonly string[];

  constructor(registry: Registry, { name, help, labelNames = [] }: FamilyOptions) {
    const { children } = this;
    this.names = labelNames;
    new Counter({ name, help, labelNames, registers: [registry], collect() {
      this.reset();
      for (const { labels, count } of children.values()) this.inc(labels, count);
    } });
  }

  inc(...values: readonly string[]): void {
    this.add(1, ...values);
  }

  /** 0 makes the child: one that is not there has no rate when it is counted for the first time. */
  add(count: number, ...values: readonly string[]): void {
    const key = values.length === 1 ? (values[0] as string) : values.join('\0');
    const known = this.children.get(key);
    if (known) known.count += count;
    else this.children.set(key, { labels: labelsOf(this.names, values), count });
  }

  reset(): void {
    this.children.clear();
  }
}

/** A histogram as the library writes one, of values that were counted elsewhere. */
export interface CountedBuckets {
  readonly labels: Labels;
  readonly bounds: readonly number[];
  /** Not added up; one more than bounds. */
  readonly counts: ArrayLike<number>;
  readonly sum: number;
}

/** Registers a histogram that is read from `read` at each scrape. */
export function lookedUpHistogram(registry: Registry, { name, help, labelNames = [] }: FamilyOptions, read: () => Iterable<CountedBuckets>): void {
  const made = new Histogram({ name, help, labelNames, registers: [] });
  const get = async (): Promise<object> => ({ name, help, type: 'histogram', aggregator: 'sum', values: Array.from(read(), (child) => valuesOf(name, child)).flat() });
  registry.registerMetric(Object.assign(made, { get, getForPromString: get }) as unknown as Metric);
}

function valuesOf(name: string, { labels, bounds, counts, sum }: CountedBuckets): object[] {
  let total = 0;
  const buckets = Array.from(counts, (count, i) => ({ metricName: `${name}_bucket`, labels: { le: i < bounds.length ? (bounds[i] as number) : '+Inf', ...labels }, value: (total += count) }));
  return [...buckets, { metricName: `${name}_sum`, labels, value: sum }, { metricName: `${name}_count`, labels, value: total }];
}

export class HistogramFamily {
  private readonly children = new Map<string, { labels: Labels; buckets: Buckets }>();
  private readonly names: readonly string[];

  constructor(registry: Registry, private readonly options: FamilyOptions & { bounds: readonly number[] }) {
    const { children } = this;
    this.names = options.labelNames ?? [];
    lookedUpHistogram(registry, options, function* () {
      for (const { labels, buckets } of children.values()) yield { labels, bounds: buckets.bounds, counts: buckets.counts, sum: buckets.sum };
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
