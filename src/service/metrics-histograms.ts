// Histograms whose buckets are counted elsewhere, as the metrics library writes them. Its own way makes the text of
// each bucket's labels anew at each scrape, which was the most of what a scrape took (node dist/load/observability.js):
// here the lines of a child are made once but for their values, and given to it as one. Used by the other files of
// metrics; front thread.
import { Histogram, type Registry } from 'prom-client';
import { lookedUpLines, NO_LABELS, type FamilyOptions, type Line } from './metrics-looked-up.js';

export type Labels = Readonly<Record<string, string>>;

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
