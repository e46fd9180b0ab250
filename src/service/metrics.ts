// What the server counts: requests, searches, ingests, and what they did. Plain numbers on the way of a request; Prometheus
// reads them when it scrapes. One instance for each server, in the context; front thread. No label names a tenant.
import { Counter, Histogram, Registry } from 'prom-client';
import { LatencyWindow } from '../base/latency-window.js';
import type { ShardCounts } from '../contract/messages.js';
import type { SearchTiming } from '../contract/resources.js';
import { RecallMetrics } from './metrics-recall.js';
import { lookedUp } from './metrics-looked-up.js';
import { EmbedderMetrics } from './metrics-embedders.js';

/** Half a millisecond to half a minute. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

const COUNTERS = {
  requests: ['sheaf_requests_total', 'Requests that are over.'],
  errors: ['sheaf_errors_total', 'Requests that were answered with an error, of the client or of the server.'],
  searches: ['sheaf_searches_total', 'Searches of a collection that succeeded.'],
  searchesDegraded: ['sheaf_searches_degraded_total', 'Searches that were answered by words alone, because the embedder did not answer.'],
  matches: ['sheaf_search_matches_total', 'Hits in the answers of searches.'],
  documentsIndexed: ['sheaf_documents_indexed_total', 'Documents stored, new and replaced.'],
  chunksIndexed: ['sheaf_chunks_indexed_total', 'Chunks of the documents stored.'],
  chunksReused: ['sheaf_chunks_reused_total', 'Chunks that were not embedded, since the stored document of the same id had their text.'],
  documentsDeleted: ['sheaf_documents_deleted_total', 'Documents deleted, without those of deleted collections.'],
  collectionsCreated: ['sheaf_collections_created_total', 'Collections made, by ingest too.'],
  collectionsDeleted: ['sheaf_collections_deleted_total', 'Collections deleted.'],
} as const;

type Counts = Record<keyof typeof COUNTERS, number>;

/** A request that is over, as the HTTP server tells of it. */
export interface FinishedRequest {
  readonly method: string;
  /** Path template; '' where no route was found. */
  readonly route: string;
  /** 0 when the client was gone before a reply was made. */
  readonly status: number;
  readonly latencyMs: number;
}

/** A search that has its hits. */
export interface FinishedSearch {
  readonly timing: SearchTiming;
  readonly hits: readonly unknown[];
  readonly degraded?: true;
}

export class Metrics {
  readonly registry = new Registry();
  readonly startedAtMs = performance.now();
  readonly searchLatency = new LatencyWindow();
  readonly ingestLatency = new LatencyWindow();
  readonly embedders = new EmbedderMetrics(this.registry);
  readonly recall = new RecallMetrics(this.registry);
  /** What each shard had when it was last asked. */
  readonly shardTotals = new Map<number, ShardCounts>();
  private readonly counted = {} as Counts;
  private readonly resettable: { reset(): void }[] = [this.searchLatency, this.ingestLatency, this.embedders, this.recall];
  private readonly answers: Counter<'method' | 'route' | 'status'>;
  private readonly durations = this.histogram('sheaf_http_request_duration_seconds', 'Time from the head of a request to the end of its reply.', 'route');
  private readonly phases = this.histogram('sheaf_search_phase_seconds', 'Time of the phases of searches.', 'phase');
  private readonly searches = this.histogram('sheaf_search_duration_seconds', 'Time of whole searches, without HTTP.');
  private readonly ingests = this.histogram('sheaf_ingest_duration_seconds', 'Time of ingests of one document, from its body to the disk.');
  /** Resolving labels costs more than counting: each combination is resolved once. */
  private readonly counters = new Map<string, { inc(): void }>();

  constructor() {
    const registers = [this.registry];
    this.answers = new Counter({ name: 'sheaf_http_requests_total', help: 'Requests by route and status; status 0: the client had gone.', labelNames: ['method', 'route', 'status'], registers });
    this.resettable.push(this.answers);
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
  finished({ method, route, status, latencyMs }: FinishedRequest): void {
    this.counted.requests++;
    if (status >= 400) this.counted.errors++;
    const template = route || 'none';
    const key = `${method} ${status} ${template}`;
    const known = this.counters.get(key);
    const counter = known ?? this.answers.labels(method, template, String(status));
    if (!known) this.counters.set(key, counter);
    counter.inc();
    this.durations(latencyMs, template);
  }

  /** A search of a collection has its hits. */
  searched({ timing, hits, degraded }: FinishedSearch, latencyMs: number): void {
    this.counted.searches++;
    this.counted.matches += hits.length;
    if (degraded) this.counted.searchesDegraded++;
    this.searchLatency.add(latencyMs);
    this.searches(latencyMs);
    for (const phase in timing) this.phases(timing[phase as keyof SearchTiming] as number, phase);
  }

  /** A document is on disk and searchable. */
  ingested(chunks: number, latencyMs: number): void {
    this.indexed(1, chunks);
    this.ingestLatency.add(latencyMs);
    this.ingests(latencyMs);
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

  /** Observes milliseconds as seconds, under a value of its label where it has one. */
  private histogram(name: string, help: string, label?: string): (ms: number, value?: string) => void {
    const made = new Histogram({ name, help, labelNames: label === undefined ? [] : [label], buckets: SECONDS, registers: [this.registry] });
    this.resettable.push(made);
    const children = new Map<string, { observe(seconds: number): void }>();
    return (ms, value = '') => {
      const known = children.get(value);
      const child = known ?? (value === '' ? made : made.labels(value.replace(/_ms$/, '')));
      if (!known) children.set(value, child);
      child.observe(ms / 1000);
    };
  }
}
