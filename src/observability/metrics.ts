// The counters of the server: requests, searches, ingests, embedder calls and recall. Counting changes plain numbers,
// which a scrape reads. Only the metrics of TenantMetrics have labels that name tenants. Runs on front threads and on
// the main thread.
import type { SearchTiming } from '../api/search.js';
import type { IngestTiming } from '../api/documents.js';
import { PRECISIONS, type Precision } from '../api/choices.js';
import type { CollectionId } from '../api/ids.js';
import { LatencyWindow } from '../base/histogram.js';
import { PHASES, PHASES_WITHIN_SEARCH, type RequestEvent, timed } from '../base/trace.js';
import type { EmbedCall } from '../pool/embed-pool.js';
import { type CountedHistograms, type CountedSamples, Counter, Histogram, Registry } from './prometheus.js';

const COUNTERS = {
  requests: ['sheaf_requests_total', 'Finished requests.'],
  errors: ['sheaf_errors_total', 'Requests answered with a client or server error.'],
  searches: ['sheaf_searches_total', 'Searches of a collection that succeeded.'],
  searchesDegraded: [
    'sheaf_searches_degraded_total',
    'Searches ranked by terms alone, because the embedder did not answer.',
  ],
  matches: ['sheaf_search_matches_total', 'Hits returned by searches.'],
  documentsIndexed: ['sheaf_documents_indexed_total', 'Documents stored, new and replaced.'],
  chunksIndexed: ['sheaf_chunks_indexed_total', 'Chunks of the documents stored.'],
  chunksReused: [
    'sheaf_chunks_reused_total',
    'Chunks that were not embedded, because the stored document with the same id had their text.',
  ],
  documentsDeleted: ['sheaf_documents_deleted_total', 'Documents deleted, without those of deleted collections.'],
  documentsExpired: ['sheaf_documents_expired_total', 'Documents among them that were deleted because they expired.'],
  collectionsCreated: ['sheaf_collections_created_total', 'Collections created, including those created by ingest.'],
  collectionsDeleted: ['sheaf_collections_deleted_total', 'Collections deleted.'],
} as const;

type Counts = Record<keyof typeof COUNTERS, number>;

/** A search whose hits are complete. */
interface FinishedSearch {
  readonly timing: SearchTiming;
  readonly hits: readonly unknown[];
  readonly degraded?: true;
}

/** From half a millisecond, for the built-in embedder, to a minute, for an endpoint with retries. */
const CALL_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const TEXTS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096];

/** Calls of embedders and rerankers. The label `embedder` is bounded, because instances are configured. */
class EmbedderMetrics {
  private readonly seconds: Histogram;
  private readonly texts: Histogram;
  private readonly failures: Counter;

  constructor(registry: Registry) {
    const labelNames = ['embedder', 'kind'];
    this.seconds = new Histogram(
      registry,
      'sheaf_embedder_call_seconds',
      'Time of the calls of embedders (queries, documents) and rerankers (rerank), failed ones too.',
      labelNames,
      CALL_SECONDS,
    );
    this.texts = new Histogram(
      registry,
      'sheaf_embedder_call_texts',
      'Texts embedded or scored per successful call.',
      labelNames,
      TEXTS,
    );
    this.failures = new Counter(
      registry,
      'sheaf_embedder_failures_total',
      'Calls that failed, as a whole or for any of their documents.',
      labelNames,
    );
  }

  /** Records a completed call. */
  called({ key, kind, texts, ms, failed }: EmbedCall): void {
    this.seconds.add(ms / 1000, key, kind);
    if (texts > 0) this.texts.add(texts, key, kind);
    this.failures.add(failed ? 1 : 0, key, kind);
  }

  reset(): void {
    for (const metric of [this.seconds, this.texts, this.failures]) metric.reset();
  }

  take(): EmbedCounts {
    return { seconds: this.seconds.take(), texts: this.texts.take(), failures: this.failures.take() };
  }

  absorb({ seconds, texts, failures }: EmbedCounts): void {
    this.seconds.absorb(seconds);
    this.texts.absorb(texts);
    this.failures.absorb(failures);
  }
}

interface EmbedCounts {
  readonly seconds: CountedHistograms;
  readonly texts: CountedHistograms;
  readonly failures: CountedSamples;
}

/** Maximum number of collections with recall data; those checked last are kept. */
const COLLECTIONS_MAX = 256;
/** After this many checks of a collection, the older ones are halved in weight. */
const CHECKS_MAX = 64;
/** Minimum number of expected neighbours for a collection to count for the lowest recall. */
const WANTED_MIN = 50;

/** Number of true nearest neighbours, and how many of them were found. */
interface Recall {
  readonly found: number;
  readonly wanted: number;
}

interface Window extends Recall {
  readonly precision: Precision;
  readonly checks: number;
}

/**
 * Recall of the sampled searches: over all collections of a precision, and of the collection with the lowest. Recent
 * checks of a collection weigh more.
 */
export class RecallMetrics {
  private readonly windows = new Map<CollectionId, Window>();
  private readonly checks: Counter;

  constructor(registry: Registry) {
    this.checks = new Counter(
      registry,
      'sheaf_recall_checks_total',
      'Searches that were repeated exactly to measure recall.',
      ['precision'],
    );
    this.gauge(
      registry,
      'sheaf_recall_at_k',
      'Share of the true k nearest neighbours that searches found, in the latest checks; k is that of each search.',
      (windows) => share(added(windows)),
    );
    this.gauge(
      registry,
      'sheaf_recall_at_k_lowest',
      'Recall at k of the collection with the lowest recall.',
      (windows) => Math.min(...windows.filter(({ wanted }) => wanted >= WANTED_MIN).map(share)),
    );
  }

  checked(id: CollectionId, precision: Precision, recalled: Recall): void {
    this.checks.inc(precision);
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

  /** Yields no value for a precision without checks. */
  private gauge(registry: Registry, name: string, help: string, read: (windows: Window[]) => number): void {
    const { windows } = this;
    registry.gauges(name, help, ['precision'], function* () {
      for (const precision of PRECISIONS) {
        const value = read([...windows.values()].filter((window) => window.precision === precision));
        if (Number.isFinite(value)) yield [[precision], value];
      }
    });
  }
}

const share = ({ found, wanted }: Recall): number => found / wanted;
const added = (windows: readonly Recall[]): Recall =>
  windows.reduce((sum, { found, wanted }) => ({ found: sum.found + found, wanted: sum.wanted + wanted }), {
    found: 0,
    wanted: 0,
  });

/** Label of all other tenants; it is not a valid slug, so no tenant can have it. */
const OTHERS = '(others)';

/**
 * Requests per tenant, if the operator enables such labels: the first `namedMax` tenants get a label each, all others
 * share one, so the number of series is bounded.
 */
class TenantMetrics {
  private readonly named = new Set<string>();
  private readonly requests: Counter | undefined;

  /** `namedMax` of 0 disables the metric. */
  constructor(
    registry: Registry,
    private readonly namedMax: number,
  ) {
    if (namedMax === 0) return;
    this.requests = new Counter(
      registry,
      'sheaf_tenant_requests_total',
      'Requests by the tenant of their path and by status; tenants beyond `metrics.tenant_labels` count together.',
      ['tenant', 'status'],
    );
  }

  /** `tenant` is '' if the request has none. */
  finished({ tenant, status }: { readonly tenant: string; readonly status: number }): void {
    if (this.requests && tenant !== '') this.count(1, tenant, String(status));
  }

  reset(): void {
    this.requests?.reset();
  }

  take(): CountedSamples {
    return this.requests?.take() ?? [];
  }

  /** Tenants that have no label of their own on this thread count with the others. */
  absorb(taken: CountedSamples): void {
    for (const [[tenant = '', status = ''], count] of taken) this.count(count, tenant, status);
  }

  private count(count: number, tenant: string, status: string): void {
    if (tenant !== OTHERS && this.named.size < this.namedMax) this.named.add(tenant);
    this.requests?.add(count, this.named.has(tenant) ? tenant : OTHERS, status);
  }
}

/** What a front thread has counted since it was asked last. */
export interface FrontCounts {
  readonly counted: Counts;
  readonly searchLatency: ReturnType<LatencyWindow['take']>;
  readonly answers: CountedSamples;
  readonly httpErrors: CountedSamples;
  readonly tenants: CountedSamples;
  readonly durations: CountedHistograms;
  readonly searches: CountedHistograms;
  readonly phases: CountedHistograms;
  readonly embedders: EmbedCounts;
}

/** From half a millisecond to half a minute. */
const REQUEST_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export class Metrics {
  readonly registry = new Registry();
  readonly startedAtMs = performance.now();
  readonly searchLatency = new LatencyWindow();
  readonly ingestLatency = new LatencyWindow();
  readonly embedders = new EmbedderMetrics(this.registry);
  readonly recall = new RecallMetrics(this.registry);
  private readonly counted = {} as Counts;
  private readonly resettable: { reset(): void }[] = [
    this.searchLatency,
    this.ingestLatency,
    this.embedders,
    this.recall,
  ];
  private readonly answers = this.kept(
    new Counter(
      this.registry,
      'sheaf_http_requests_total',
      'Requests by route and status; status 0 if the client disconnected before the reply.',
      ['method', 'route', 'status'],
    ),
  );
  private readonly httpErrors = this.kept(
    new Counter(
      this.registry,
      'sheaf_http_errors_total',
      'Requests answered with an error, by error code, including limits and quotas.',
      ['code'],
    ),
  );
  private readonly durations = this.histogram(
    'sheaf_http_request_duration_seconds',
    'Time from the request head to the end of the reply.',
    'route',
  );
  private readonly phases = this.histogram('sheaf_search_phase_seconds', 'Time of the phases of searches.', 'phase');
  private readonly searches = this.histogram('sheaf_search_duration_seconds', 'Time of searches, without HTTP.');
  private readonly ingests = this.histogram(
    'sheaf_ingest_duration_seconds',
    'Time of ingesting one document, from the complete body to the commit.',
  );
  private readonly ingestPhases = this.histogram(
    'sheaf_ingest_phase_seconds',
    'Time of the phases of ingest, of a document or a group of a batch.',
    'phase',
  );
  private readonly tenants: TenantMetrics;

  /** `tenantsMax` is the number of tenants with labels of their own. */
  constructor(tenantsMax = 0) {
    this.tenants = this.kept(new TenantMetrics(this.registry, tenantsMax));
    this.registry.alias('sheaf_refusals_total', 'sheaf_http_errors_total');
    const { counted } = this;
    for (const [key, [name, help]] of Object.entries(COUNTERS) as [keyof Counts, readonly [string, string]][]) {
      counted[key] = 0;
      this.registry.counter(name, help, () => counted[key]);
    }
  }

  get counts(): Readonly<Counts> {
    return this.counted;
  }

  /** Records a finished request. */
  finished(request: Pick<RequestEvent, 'method' | 'route' | 'status' | 'latencyMs' | 'code' | 'tenant'>): void {
    const { method, route, status, latencyMs, code } = request;
    this.counted.requests++;
    if (status >= 400) this.counted.errors++;
    if (code !== undefined) this.httpErrors.inc(code);
    const template = route || 'none';
    this.answers.inc(method, template, String(status));
    this.durations.add(latencyMs / 1000, template);
    this.tenants.finished(request);
  }

  /** Records a completed search of a collection. */
  searched({ timing, hits, degraded }: FinishedSearch, latencyMs: number): void {
    this.counted.searches++;
    this.counted.matches += hits.length;
    if (degraded) this.counted.searchesDegraded++;
    this.searchLatency.add(latencyMs);
    this.searches.add(latencyMs / 1000);
    addPhases(this.phases, timing);
  }

  /** Records a document that is on disk and searchable. */
  ingested(chunks: number, latencyMs: number, timing: IngestTiming): void {
    this.indexed(1, chunks);
    this.ingestLatency.add(latencyMs);
    this.ingests.add(latencyMs / 1000);
    addPhases(this.ingestPhases, timing);
  }

  /** Measures a phase of a group of a batch. Groups overlap in time; each is counted by itself. */
  async inPhase<T>(phase: keyof IngestTiming, work: () => Promise<T>): Promise<T> {
    const timing: IngestTiming = {};
    try {
      return await timed(timing, phase, work);
    } finally {
      addPhases(this.ingestPhases, timing);
    }
  }

  /** Records documents of a batch that are on disk and searchable. */
  indexed(documents: number, chunks: number): void {
    this.counted.documentsIndexed += documents;
    this.counted.chunksIndexed += chunks;
  }

  /** Records chunks whose vectors were reused from the stored document. */
  reused(chunks: number): void {
    this.counted.chunksReused += chunks;
  }

  count(what: 'documentsDeleted' | 'documentsExpired' | 'collectionsCreated' | 'collectionsDeleted', times = 1): void {
    this.counted[what] += times;
  }

  /** On a front thread: what it has counted since the last call. Its counters begin anew. */
  take(): FrontCounts {
    const { searchLatency, answers, httpErrors, tenants, durations, searches, phases, embedders } = this;
    const counted = { ...this.counted };
    for (const key in this.counted) this.counted[key as keyof Counts] = 0;
    return {
      counted,
      searchLatency: searchLatency.take(),
      answers: answers.take(),
      httpErrors: httpErrors.take(),
      tenants: tenants.take(),
      durations: durations.take(),
      searches: searches.take(),
      phases: phases.take(),
      embedders: embedders.take(),
    };
  }

  /** On the main thread: adds what a front thread has counted. */
  absorb(taken: FrontCounts): void {
    for (const key in taken.counted) this.counted[key as keyof Counts] += taken.counted[key as keyof Counts];
    this.searchLatency.absorb(taken.searchLatency);
    this.answers.absorb(taken.answers);
    this.httpErrors.absorb(taken.httpErrors);
    this.tenants.absorb(taken.tenants);
    this.durations.absorb(taken.durations);
    this.searches.absorb(taken.searches);
    this.phases.absorb(taken.phases);
    this.embedders.absorb(taken.embedders);
  }

  /** Resets all event counters to 0. */
  reset(): void {
    for (const key in this.counted) this.counted[key as keyof Counts] = 0;
    for (const metric of this.resettable) metric.reset();
  }

  private histogram(name: string, help: string, ...labelNames: string[]): Histogram {
    return this.kept(new Histogram(this.registry, name, help, labelNames, REQUEST_SECONDS));
  }

  private kept<T extends { reset(): void }>(made: T): T {
    this.resettable.push(made);
    return made;
  }
}

function addPhases(phases: Histogram, timing: SearchTiming | IngestTiming): void {
  for (const phase in timing)
    phases.add((timing[phase as keyof typeof timing] as number) / 1000, PHASE_NAMES.get(phase) ?? phase);
}

/** Names are computed once, because phases are counted many times a second. */
const PHASE_NAMES: ReadonlyMap<string, string> = new Map(
  [...PHASES, ...PHASES_WITHIN_SEARCH].map((phase) => [`${phase}_ms`, phase]),
);
