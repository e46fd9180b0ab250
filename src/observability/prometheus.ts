// Counters and histograms whose values are plain numbers until they are scraped: the library resolves labels and
// buckets anew for each value, which took more of a search than the search of a small collection (node
// dist/load/observability.js). One child for each combination of labels, made when it is first met: whoever counts
// keeps the labels bounded. Used by the other files of metrics; front thread.
import { Counter, Gauge, Histogram, type Metric, type Registry } from 'prom-client';
import { Buckets } from '../base/histogram.js';

// Metrics that are not counted by the library but looked up: what is read at a scrape is what is written, without the
// library's own copy of it, which it finds by a hash of the labels (node dist/load/observability.js). Used by the other
// files of metrics, on the front thread.

interface FamilyOptions {
  name: string;
  help: string;
  labelNames?: readonly string[];
}

/** As the library takes it: name, labels and value are put one behind the other. */
interface Line {
  /** That of the family where it is not given. */
  readonly metricName?: string;
  /** The library keeps the text of them for as long as the object is there. */
  readonly sharedLabels: Readonly<Record<string, string>>;
  readonly value: number;
}

type Kind = typeof Counter | typeof Gauge | typeof Histogram;

/** Their names would not outlive a minifier. */
const TYPES: ReadonlyMap<Kind, string> = new Map<Kind, string>([
  [Counter, 'counter'],
  [Gauge, 'gauge'],
  [Histogram, 'histogram'],
]);

const NO_LABELS = {};

/** A metric whose value is read when it is scraped, and costs nothing before. */
export function lookedUp(registry: Registry, kind: Kind, name: string, help: string, read: () => number): void {
  lookedUpLines(registry, kind, { name, help }, () => [{ sharedLabels: NO_LABELS, value: read() }]);
}

/** One of any number of lines. */
function lookedUpLines(
  registry: Registry,
  kind: Kind,
  { name, help, labelNames = [] }: FamilyOptions,
  read: () => readonly Line[],
): void {
  const made = new kind({ name, help, labelNames, registers: [] });
  const get = async (): Promise<object> => ({ name, help, type: TYPES.get(kind), aggregator: 'sum', values: read() });
  registry.registerMetric(Object.assign(made, { get, getForPromString: get }) as unknown as Metric);
}

// Histograms whose buckets are counted elsewhere, as the metrics library writes them. Its own way makes the text of
// each bucket's labels anew at each scrape, which was the most of what a scrape took (node dist/load/observability.js):
// here the lines of a child are made once but for their values, and given to it as one. Used by the other files of
// metrics; front thread.

type Labels = Readonly<Record<string, string>>;

export interface CountedBuckets {
  readonly labels: Labels;
  readonly bounds: readonly number[];
  /** Not added up; one more than bounds. */
  readonly counts: ArrayLike<number>;
  readonly sum: number;
}

/** Registers a histogram that is read from `read` at each scrape. A child has the same bounds each time. */
export function lookedUpHistogram(
  registry: Registry,
  options: FamilyOptions,
  read: () => Iterable<CountedBuckets>,
): void {
  const known = new Map<string, ChildLines>();
  const lineOf = (child: CountedBuckets): Line => {
    const key = Object.values(child.labels).join('\0');
    const lines = known.get(key) ?? new ChildLines(options.name, child);
    known.set(key, lines);
    return lines.of(child);
  };
  lookedUpLines(registry, Histogram, options, () => Array.from(read(), lineOf));
}

class ChildLines {
  /** Of each bucket, and of the sum: what stands before its value, with the end of the line before. */
  private readonly starts: readonly string[];
  private readonly last: string;

  constructor(name: string, { labels, bounds }: CountedBuckets) {
    const own = Object.entries(labels).map(([label, value]) => `${label}="${escaped(value)}"`);
    const buckets = [...bounds, '+Inf'].map((le) => `${name}_bucket{${[`le="${le}"`, ...own].join()}} `);
    const all = own.length === 0 ? '' : `{${own.join()}}`;
    this.starts = [...buckets, `${name}_sum${all} `].map((start, i) => (i === 0 ? start : `\n${start}`));
    this.last = `\n${name}_count${all}`;
  }

  /** All of them as one, whose name is what stands before the last value. */
  of({ counts, sum }: CountedBuckets): Line {
    let text = '';
    let total = 0;
    for (let i = 0; i < counts.length; i++) text += `${this.starts[i]}${(total += counts[i] as number)}`;
    return {
      metricName: `${text}${this.starts[counts.length]}${sum}${this.last}`,
      sharedLabels: NO_LABELS,
      value: total,
    };
  }
}

const escaped = (value: string): string =>
  value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');

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
