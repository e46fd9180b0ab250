// Metrics that are not counted by the library but looked up: what is read at a scrape is what is written, without the
// library's own copy of it, which it finds by a hash of the labels (node dist/load/observability.js). Used by the other
// files of metrics, on the front thread.
import { Counter, Gauge, Histogram, type Metric, type Registry } from 'prom-client';

export interface FamilyOptions {
  name: string;
  help: string;
  labelNames?: readonly string[];
}

/** As the library takes it: name, labels and value are put one behind the other. */
export interface Line {
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

export const NO_LABELS = {};

/** A metric whose value is read when it is scraped, and costs nothing before. */
export function lookedUp(registry: Registry, kind: Kind, name: string, help: string, read: () => number): void {
  lookedUpLines(registry, kind, { name, help }, () => [{ sharedLabels: NO_LABELS, value: read() }]);
}

/** One of any number of lines. */
export function lookedUpLines(
  registry: Registry,
  kind: Kind,
  { name, help, labelNames = [] }: FamilyOptions,
  read: () => readonly Line[],
): void {
  const made = new kind({ name, help, labelNames, registers: [] });
  const get = async (): Promise<object> => ({ name, help, type: TYPES.get(kind), aggregator: 'sum', values: read() });
  registry.registerMetric(Object.assign(made, { get, getForPromString: get }) as unknown as Metric);
}
