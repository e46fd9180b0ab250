// Metrics in the Prometheus text format (version 0.0.4). Values are plain numbers until a scrape reads them, and the
// text before each value is built once. prom-client hashes the labels for each value and rebuilds label texts at each
// scrape; counting with it took longer than searching a small collection (node dist/load/main.js http observability).
// It is only used for Node's process metrics, in gauges.ts. Runs on front threads and on the main thread.
import { assert } from '../base/assert.js';
import { Buckets } from '../base/histogram.js';

export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** The label values of a line, in the order of the label names, and the value. */
type Sample = readonly [labels: readonly string[], value: number];

/** The histogram of one combination of label values. */
export interface CountedBuckets {
  readonly labels: readonly string[];
  readonly bounds: readonly number[];
  /** Count of each bucket, not cumulative; one more than bounds. */
  readonly counts: ArrayLike<number>;
  readonly sum: number;
}

/** HELP and TYPE. */
const HEAD_LINES = 2;

type MetricType = 'counter' | 'gauge' | 'histogram';

/** A metric as the documentation lists it (scripts/docs-tables.mjs). */
export interface MetricFamily {
  readonly name: string;
  readonly type: MetricType;
  readonly help: string;
  readonly labels: readonly string[];
}

/** Metrics by name, each with its HELP and TYPE lines and its values as of the scrape. */
export class Registry {
  readonly described: MetricFamily[] = [];
  private readonly families = new Map<string, () => string>();

  /** The text of each metric, built on demand. */
  *texts(): Generator<string> {
    for (const text of this.families.values()) yield text();
  }

  gauge(name: string, help: string, read: () => number): void {
    this.add({ type: 'gauge', name, help, labels: [] }, () => [`${name} ${numberText(read())}`]);
  }

  counter(name: string, help: string, read: () => number): void {
    this.add({ type: 'counter', name, help, labels: [] }, () => [`${name} ${numberText(read())}`]);
  }

  gauges(name: string, help: string, labels: readonly string[], read: () => Iterable<Sample>): void {
    this.add({ type: 'gauge', name, help, labels }, () => linesOf(name, labels, read()));
  }

  counters(name: string, help: string, labels: readonly string[], read: () => Iterable<Sample>): void {
    this.add({ type: 'counter', name, help, labels }, () => linesOf(name, labels, read()));
  }

  /** The bounds of a combination of labels must be the same at each scrape. */
  histograms(name: string, help: string, labelNames: readonly string[], read: () => Iterable<CountedBuckets>): void {
    const known = new Map<string, HistogramText>();
    const textOf = (child: CountedBuckets): string => {
      const key = child.labels.join('\0');
      const text = known.get(key) ?? new HistogramText(name, labelPairs(labelNames, child.labels), child.bounds);
      known.set(key, text);
      return text.of(child);
    };
    this.add({ type: 'histogram', name, help, labels: labelNames }, () => Array.from(read(), textOf));
  }

  /** Repeats a metric under the name that it had in earlier releases. Removed in release 0.11.0. */
  alias(name: string, current: string): void {
    const family = this.described.find((one) => one.name === current);
    const text = this.families.get(current);
    assert(family !== undefined && text !== undefined, `there is a metric of the name ${current}`);
    const help = `Deprecated: use ${current}, which is the same. Removed in release 0.11.0.`;
    const samples = (): string[] => text().split('\n').slice(HEAD_LINES);
    this.add({ ...family, name, help }, () => samples().map((line) => name + line.slice(current.length)));
  }

  add(family: MetricFamily, lines: () => Iterable<string>): void {
    const { name, type, help } = family;
    assert(!this.families.has(name), `there is one metric of the name ${name}`);
    const head = `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}`;
    this.described.push(family);
    this.families.set(name, () => [head, ...lines()].join('\n'));
  }
}

/**
 * A counter with labels. A combination of label values exists once it is counted; callers keep their number bounded.
 */
export class Counter {
  private readonly children = new Map<string, { labels: readonly string[]; start: string; value: number }>();

  constructor(
    registry: Registry,
    private readonly name: string,
    help: string,
    private readonly labelNames: readonly string[],
  ) {
    const line = ({ start, value }: { start: string; value: number }): string => start + numberText(value);
    registry.add({ type: 'counter', name, help, labels: labelNames }, () => Array.from(this.children.values(), line));
  }

  inc(...labels: readonly string[]): void {
    this.add(1, ...labels);
  }

  /** A count of 0 creates the combination, so that its first increment is visible as a rate. */
  add(count: number, ...labels: readonly string[]): void {
    const key = keyOf(labels);
    const known = this.children.get(key);
    if (known) known.value += count;
    else
      this.children.set(key, {
        labels,
        start: `${this.name}${braced(labelPairs(this.labelNames, labels))} `,
        value: count,
      });
  }

  reset(): void {
    this.children.clear();
  }

  /** What has been counted since the last call, for `absorb` on another thread. */
  take(): CountedSamples {
    const taken = Array.from(this.children.values(), ({ labels, value }): Sample => [labels, value]);
    this.children.clear();
    return taken;
  }

  absorb(taken: CountedSamples): void {
    for (const [labels, value] of taken) this.add(value, ...labels);
  }
}

/** The counts of a counter by labels. */
export type CountedSamples = readonly Sample[];
/** The counts of a histogram by labels. */
export type CountedHistograms = readonly Pick<CountedBuckets, 'labels' | 'counts' | 'sum'>[];

/** A histogram. Without labels it exists before anything is counted. */
export class Histogram {
  private readonly children = new Map<string, { labels: readonly string[]; buckets: Buckets }>();

  constructor(
    registry: Registry,
    name: string,
    help: string,
    private readonly labelNames: readonly string[],
    private readonly bounds: readonly number[],
  ) {
    const { children } = this;
    registry.histograms(name, help, labelNames, function* () {
      for (const { labels, buckets } of children.values())
        yield { labels, bounds, counts: buckets.counts, sum: buckets.sum };
    });
    this.reset();
  }

  add(value: number, ...labels: readonly string[]): void {
    this.child(...labels).add(value);
  }

  reset(): void {
    this.children.clear();
    if (this.labelNames.length === 0) this.child();
  }

  /** What has been counted since the last call, for `absorb` on another thread. */
  take(): CountedHistograms {
    const taken = Array.from(this.children.values(), ({ labels, buckets: { counts, sum } }) => ({
      labels,
      counts,
      sum,
    }));
    this.reset();
    return taken;
  }

  absorb(taken: CountedHistograms): void {
    for (const { labels, counts, sum } of taken) this.child(...labels).absorb(counts, sum);
  }

  private child(...labels: readonly string[]): Buckets {
    const key = keyOf(labels);
    const known = this.children.get(key);
    if (known) return known.buckets;
    const buckets = new Buckets(this.bounds);
    this.children.set(key, { labels, buckets });
    return buckets;
  }
}

/** The lines of one histogram, built once except for the numbers. */
class HistogramText {
  /** The text before the number of each bucket, the sum and the count, including the preceding line break. */
  private readonly starts: readonly string[];

  constructor(name: string, labels: readonly string[], bounds: readonly number[]) {
    const buckets = [...bounds, '+Inf'].map((le) => `${name}_bucket${braced([`le="${le}"`, ...labels])} `);
    const all = [...buckets, `${name}_sum${braced(labels)} `, `${name}_count${braced(labels)} `];
    this.starts = all.map((start, i) => (i === 0 ? start : `\n${start}`));
  }

  of({ counts, sum }: CountedBuckets): string {
    let text = '';
    let total = 0;
    for (let i = 0; i < counts.length; i++) text += `${this.starts[i]}${(total += counts[i] as number)}`;
    return `${text}${this.starts[counts.length]}${sum}${this.starts[counts.length + 1]}${total}`;
  }
}

const linesOf = (name: string, labelNames: readonly string[], samples: Iterable<Sample>): string[] =>
  Array.from(samples, ([labels, value]) => `${name}${braced(labelPairs(labelNames, labels))} ${numberText(value)}`);

const labelPairs = (names: readonly string[], values: readonly string[]): string[] =>
  names.map((name, i) => `${name}="${escaped(values[i] as string).replaceAll('"', '\\"')}"`);

const braced = (pairs: readonly string[]): string => (pairs.length === 0 ? '' : `{${pairs.join(',')}}`);

const keyOf = (labels: readonly string[]): string => (labels.length === 1 ? (labels[0] as string) : labels.join('\0'));

const escaped = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');

const numberText = (value: number): string =>
  Number.isFinite(value) || Number.isNaN(value) ? String(value) : value < 0 ? '-Inf' : '+Inf';
