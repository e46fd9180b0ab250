// What the server counts: requests, searches, ingests, and what they did. Plain numbers on the way of a request;
// Prometheus reads them when it scrapes. One instance for each server, in the context; front thread. No label names a
// tenant.
import { Counter, Gauge, Registry } from 'prom-client';
import { LatencyWindow } from '../base/latency-window.js';
import { PHASES, PHASES_WITHIN_SEARCH } from '../base/trace.js';
import type { ShardAnswer } from '../contract/messages.js';
import type { IngestTiming, SearchTiming } from '../contract/resources.js';
import { COUNTERS, type Counts, type FinishedRequest, type FinishedSearch } from './metrics-counts.js';
import { EmbedderMetrics } from './metrics-embedders.js';
import { CounterFamily, HistogramFamily } from './metrics-families.js';
import { lookedUp } from './metrics-looked-up.js';
import { RecallMetrics } from './metrics-recall.js';
import { TenantMetrics } from './metrics-tenants.js';

/** Half a millisecond to half a minute. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export class Metrics {
  readonly registry = new Registry();
  readonly startedAtMs = performance.now();
  readonly searchLatency = new LatencyWindow();
  readonly ingestLatency = new LatencyWindow();
  readonly embedders = new EmbedderMetrics(this.registry);
  readonly recall = new RecallMetrics(this.registry);
  /** What each shard had when it was last asked. */
  readonly shardTotals = new Map<number, ShardAnswer<'totals'>>();
  private readonly counted = {} as Counts;
  private readonly resettable: { reset(): void }[] = [
    this.searchLatency,
    this.ingestLatency,
    this.embedders,
    this.recall,
  ];
  private readonly answers = this.kept(
    new CounterFamily(this.registry, {
      name: 'sheaf_http_requests_total',
      help: 'Requests by route and status; status 0: the client had gone.',
      labelNames: ['method', 'route', 'status'],
    }),
  );
  private readonly refusals = this.kept(
    new CounterFamily(this.registry, {
      name: 'sheaf_refusals_total',
      help: 'Requests that were answered with an error, by its code: limits and quotas among them.',
      labelNames: ['code'],
    }),
  );
  private readonly durations = this.histogram(
    'sheaf_http_request_duration_seconds',
    'Time from the head of a request to the end of its reply.',
    'route',
  );
  private readonly phases = this.histogram('sheaf_search_phase_seconds', 'Time of the phases of searches.', 'phase');
  private readonly searches = this.histogram('sheaf_search_duration_seconds', 'Time of whole searches, without HTTP.');
  private readonly ingests = this.histogram(
    'sheaf_ingest_duration_seconds',
    'Time of ingests of one document, from its body to the disk.',
  );
  private readonly ingestPhases = this.histogram(
    'sheaf_ingest_phase_seconds',
    'Time of the phases of ingests: of a document, or of a part of a batch.',
    'phase',
  );
  private readonly tenants: TenantMetrics;

  /** `tenantsMax`: how many tenants have labels of their own. */
  constructor(tenantsMax = 0) {
    this.tenants = this.kept(new TenantMetrics(this.registry, tenantsMax));
    const { counted } = this;
    for (const [key, [name, help]] of Object.entries(COUNTERS) as [keyof Counts, readonly [string, string]][]) {
      counted[key] = 0;
      lookedUp(this.registry, Counter, name, help, () => counted[key]);
    }
  }

  get counts(): Readonly<Counts> {
    return this.counted;
  }

  /** A request is over. */
  finished(request: FinishedRequest): void {
    const { method, route, status, latencyMs, code } = request;
    this.counted.requests++;
    if (status >= 400) this.counted.errors++;
    if (code !== undefined) this.refusals.inc(code);
    const template = route || 'none';
    this.answers.inc(method, template, String(status));
    this.durations.add(latencyMs / 1000, template);
    this.tenants.finished(request);
  }

  /** A search of a collection has its hits. */
  searched({ timing, hits, degraded }: FinishedSearch, latencyMs: number): void {
    this.counted.searches++;
    this.counted.matches += hits.length;
    if (degraded) this.counted.searchesDegraded++;
    this.searchLatency.add(latencyMs);
    this.searches.add(latencyMs / 1000);
    addPhases(this.phases, timing);
  }

  /** A document is on disk and searchable. */
  ingested(chunks: number, latencyMs: number, timing: IngestTiming): void {
    this.indexed(1, chunks);
    this.ingestLatency.add(latencyMs);
    this.ingests.add(latencyMs / 1000);
    this.ingestedInPhases(timing);
  }

  /** A document is, or a part of a batch has come through some phases. */
  ingestedInPhases(timing: IngestTiming): void {
    addPhases(this.ingestPhases, timing);
  }

  /** Documents of a batch are. */
  indexed(documents: number, chunks: number): void {
    this.counted.documentsIndexed += documents;
    this.counted.chunksIndexed += chunks;
  }

  /** Chunks of a document that comes again have their vectors from the stored one. */
  reused(chunks: number): void {
    this.counted.chunksReused += chunks;
  }

  count(what: 'documentsDeleted' | 'collectionsCreated' | 'collectionsDeleted'): void {
    this.counted[what]++;
  }

  /** Everything that counts events starts again at 0. */
  reset(): void {
    for (const key in this.counted) this.counted[key as keyof Counts] = 0;
    for (const metric of this.resettable) metric.reset();
  }

  /** A gauge of what somebody else knows, read when it is scraped. */
  watch(name: string, help: string, read: () => number): void {
    lookedUp(this.registry, Gauge, name, help, read);
  }

  private histogram(name: string, help: string, ...labelNames: string[]): HistogramFamily {
    return this.kept(new HistogramFamily(this.registry, { name, help, labelNames, bounds: SECONDS }));
  }

  private kept<T extends { reset(): void }>(made: T): T {
    this.resettable.push(made);
    return made;
  }
}

function addPhases(phases: HistogramFamily, timing: SearchTiming | IngestTiming): void {
  for (const phase in timing)
    phases.add((timing[phase as keyof typeof timing] as number) / 1000, PHASE_NAMES.get(phase) ?? phase);
}

/** Cut once: a phase is counted many times a second. */
const PHASE_NAMES: ReadonlyMap<string, string> = new Map(
  [...PHASES, ...PHASES_WITHIN_SEARCH].map((phase) => [`${phase}_ms`, phase]),
);
