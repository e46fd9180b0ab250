// What the server counts: requests, searches, ingests, calls of embedders, recall. The values are plain numbers on the way
// of a request, and Prometheus reads them when it scrapes. No label names a tenant, but those of TenantMetrics. Front
// thread.
import type { SearchTiming } from '../api/search.js';
import type { IngestTiming } from '../api/documents.js';
import { PRECISIONS, type Precision } from '../api/choices.js';
import type { CollectionId } from '../api/ids.js';
import { LatencyWindow } from '../base/histogram.js';
import { PHASES, PHASES_WITHIN_SEARCH, type RequestEvent, timed } from '../base/trace.js';
import type { EmbedCall } from '../pool/embed-pool.js';
import { Counter, Histogram, Registry } from './prometheus.js';

const COUNTERS = {
  requests: ['sheaf_requests_total', 'Requests that are over.'],
  errors: ['sheaf_errors_total', 'Requests that were answered with an error, of the client or of the server.'],
  searches: ['sheaf_searches_total', 'Searches of a collection that succeeded.'],
  searchesDegraded: [
    'sheaf_searches_degraded_total',
    'Searches that were answered by words alone, because the embedder did not answer.',
  ],
  matches: ['sheaf_search_matches_total', 'Hits in the answers of searches.'],
  documentsIndexed: ['sheaf_documents_indexed_total', 'Documents stored, new and replaced.'],
  chunksIndexed: ['sheaf_chunks_indexed_total', 'Chunks of the documents stored.'],
  chunksReused: [
    'sheaf_chunks_reused_total',
    'Chunks that were not embedded, since the stored document of the same id had their text.',
  ],
  documentsDeleted: ['sheaf_documents_deleted_total', 'Documents deleted, without those of deleted collections.'],
  collectionsCreated: ['sheaf_collections_created_total', 'Collections made, by ingest too.'],
  collectionsDeleted: ['sheaf_collections_deleted_total', 'Collections deleted.'],
} as const;

type Counts = Record<keyof typeof COUNTERS, number>;

/** A search that has its hits. */
interface FinishedSearch {
  readonly timing: SearchTiming;
  readonly hits: readonly unknown[];
  readonly degraded?: true;
}

/** Half a millisecond to a minute: from the built-in embedder to an endpoint that is tried again. */
const CALL_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const TEXTS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096];

/** Calls of embedders and rerankers, by instance: the operator has configured how many there are. */
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
      'Texts that a call which succeeded embedded or scored.',
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

  /** A call is over. */
  called({ key, kind, texts, ms, failed }: EmbedCall): void {
    this.seconds.add(ms / 1000, key, kind);
    if (texts > 0) this.texts.add(texts, key, kind);
    this.failures.add(failed ? 1 : 0, key, kind);
  }

  reset(): void {
    for (const metric of [this.seconds, this.texts, this.failures]) metric.reset();
  }
}

/** Collections that are remembered: those checked last. */
const COLLECTIONS_MAX = 256;
/** With so many checks the older ones count half. */
const CHECKS_MAX = 64;
/** A collection with fewer neighbours looked for says nothing of the worst. */
const WANTED_MIN = 50;

/** Of the true nearest, how many were found. */
interface Recall {
  readonly found: number;
  readonly wanted: number;
}

interface Window extends Recall {
  readonly precision: Precision;
  readonly checks: number;
}

/**
 * Recall of the searches that were checked: over all collections of a precision, and of the worst of them. Of a
 * collection the latest checks count most.
 */
export class RecallMetrics {
  private readonly windows = new Map<CollectionId, Window>();
  private readonly checks: Counter;

  constructor(registry: Registry) {
    this.checks = new Counter(
      registry,
      'sheaf_recall_checks_total',
      'Searches that were made again exactly, to see what they had found.',
      ['precision'],
    );
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

  /** Has no value for a precision that nothing was checked of. */
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

/** No tenant is called so: it is no slug. */
const OTHERS = '(others)';

/**
 * Requests of single tenants, where the operator wants labels that name them: those that come first have one each, all
 * others share one, so that no number of tenants makes the metrics grow beyond bounds.
 */
class TenantMetrics {
  private readonly named = new Set<string>();
  private readonly requests: Counter | undefined;

  /** `namedMax`: 0 for no metric at all. */
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

  /** `tenant`: '' where the request has none. */
  finished({ tenant, status }: { readonly tenant: string; readonly status: number }): void {
    if (!this.requests || tenant === '') return;
    if (this.named.size < this.namedMax) this.named.add(tenant);
    this.requests.inc(this.named.has(tenant) ? tenant : OTHERS, String(status));
  }

  reset(): void {
    this.requests?.reset();
  }
}

/** Half a millisecond to half a minute. */
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
      'Requests by route and status; status 0: the client had gone.',
      ['method', 'route', 'status'],
    ),
  );
  private readonly refusals = this.kept(
    new Counter(
      this.registry,
      'sheaf_refusals_total',
      'Requests that were answered with an error, by its code: limits and quotas among them.',
      ['code'],
    ),
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
      this.registry.counter(name, help, () => counted[key]);
    }
  }

  get counts(): Readonly<Counts> {
    return this.counted;
  }

  /** A request is over. */
  finished(request: Pick<RequestEvent, 'method' | 'route' | 'status' | 'latencyMs' | 'code' | 'tenant'>): void {
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
    addPhases(this.ingestPhases, timing);
  }

  /** Measures a phase of a part of a batch: parts overlap in time, and count each by itself. */
  async inPhase<T>(phase: keyof IngestTiming, work: () => Promise<T>): Promise<T> {
    const timing: IngestTiming = {};
    try {
      return await timed(timing, phase, work);
    } finally {
      addPhases(this.ingestPhases, timing);
    }
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

/** Cut once: a phase is counted many times a second. */
const PHASE_NAMES: ReadonlyMap<string, string> = new Map(
  [...PHASES, ...PHASES_WITHIN_SEARCH].map((phase) => [`${phase}_ms`, phase]),
);
