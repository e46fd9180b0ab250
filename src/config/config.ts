// The configuration as the rest of the server takes it: the checked values of config-keys.ts, grouped by who uses them.
// Called by config.ts at start.
import { availableParallelism } from 'node:os';
import type { Chunking, SearchMode } from '../api/collections.js';
import type { Language } from '../api/languages.js';
import { type FusionSettings, fusionSettings } from '../api/search.js';
import type { EmbedderInstance, RerankerInstance } from '../embedding/embedder-spec.js';
import type { AllowedSites } from '../http/site-guard.js';
import type { EmbedThreads } from '../pool/embed-pool.js';
import type { KeyConfig } from '../service/tenants/keys.js';
import type { TenantLimits } from '../service/tenants/limits.js';

// The limits of the configuration as the rest of the server takes them: of requests, and of what a tenant may use.
// Called by config-shape.ts at start.

interface LimitsConfig {
  batchBytesMax: number;
  fileBytesMax: number;
  archiveBytesMax: number;
  metadataBytesMax: number;
  batchItemsMax: number;
  inFlightMax: number;
  heldBytesMax: number;
  bodyTimeoutMs: number;
  requestTimeoutMs: number;
  drainTimeoutMs: number;
}

function assembleLimits(number: (path: string) => number): LimitsConfig {
  return {
    batchBytesMax: number('limits.json_bytes_max'),
    fileBytesMax: number('limits.file_bytes_max'),
    archiveBytesMax: number('limits.archive_bytes_max'),
    metadataBytesMax: number('limits.metadata_bytes_max'),
    batchItemsMax: number('limits.batch_items_max'),
    inFlightMax: number('limits.in_flight_max'),
    heldBytesMax: number('limits.held_bytes_max'),
    bodyTimeoutMs: number('limits.body_timeout_seconds') * 1000,
    requestTimeoutMs: number('limits.request_timeout_seconds') * 1000,
    drainTimeoutMs: number('limits.drain_timeout_seconds') * 1000,
  };
}

/** Without keys there are no tenants to keep apart: the in-flight cap then holds only where the operator gave it. */
function assembleTenantLimits(number: (path: string) => number, isUncapped: boolean): TenantLimits {
  return {
    requestsPerSecond: number('limits.tenant.requests_per_second'),
    burst: number('limits.tenant.burst'),
    inFlightMax: isUncapped ? 0 : number('limits.tenant.max_in_flight'),
    collectionsMax: number('limits.tenant.max_collections'),
    chunksPerCollectionMax: number('limits.tenant.max_chunks_per_collection'),
  };
}

// The part of the configuration that says what is told of requests: lines of the log, labels of the metrics, spans and
// where they go. Called by config-shape.ts at start.

export interface TracingConfig {
  enabled: boolean;
  /** Full URL of the traces of a collector. */
  endpoint: string;
  serviceName: string;
  /** Of requests whose caller has not decided: 0 to 1. */
  sampleShare: number;
  /** Spans that wait to be sent; beyond that they are dropped. */
  queueMax: number;
  timeoutMs: number;
}

interface ObservabilityConfig {
  /**
   * `requestShare`: of the requests that have a line each, 0 to 1. `slowMs`: what takes longer always has; 0 for never.
   */
  log: { level: string; requestShare: number; slowMs: number };
  /** Tenants that have labels of their own. */
  metrics: { tenantLabels: number };
  tracing: TracingConfig;
}

function assembleObservability(
  text: (path: string) => string,
  number: (path: string) => number,
  flag: (path: string) => boolean,
): ObservabilityConfig {
  const tracing = {
    enabled: flag('tracing.enabled'),
    endpoint: text('tracing.endpoint'),
    serviceName: text('tracing.service_name'),
    sampleShare: number('tracing.sample_share'),
    queueMax: number('tracing.queue_max'),
    timeoutMs: number('tracing.timeout_seconds') * 1000,
  };
  return {
    log: { level: text('log.level'), requestShare: number('log.request_share'), slowMs: number('log.slow_ms') },
    metrics: { tenantLabels: number('metrics.tenant_labels') },
    tracing,
  };
}

// The part of the configuration that searches take: modes served, what boost adds, how hybrid fuses.
// Called by config-shape.ts at start.

interface SearchConfig {
  modes: SearchMode[];
  boostWeight: number;
  stringOperators: boolean;
  degrade: boolean;
  language: Language;
  fusion: FusionSettings;
  /** Search workers. */
  threads: number;
  /** Of each search worker; 0 for none. */
  hitCacheBytes: number;
  /** Between two checks of recall; 0 for none. */
  recallSampleS: number;
}

function assembleSearch(value: (path: string) => unknown, isGiven: (path: string) => boolean): SearchConfig {
  return {
    modes: value('search.modes') as SearchMode[],
    boostWeight: value('search.boost_weight') as number,
    stringOperators: value('search.string_operators') as boolean,
    degrade: value('search.degrade') as boolean,
    language: value('search.language') as Language,
    fusion: assembleFusion(value, isGiven),
    threads: value('search.threads') as number,
    hitCacheBytes: (value('search.hit_cache_mb') as number) * 1024 * 1024,
    recallSampleS: value('search.recall_sample_seconds') as number,
  };
}

/** A weight that is not given is that of the method. */
function assembleFusion(value: (path: string) => unknown, isGiven: (path: string) => boolean): FusionSettings {
  const settings = fusionSettings({
    method: value('search.fusion.method') as FusionSettings['method'],
    k: value('search.fusion.k') as number,
  });
  for (const half of ['vector', 'lexical'] as const) {
    const path = `search.fusion.${half}_weight`;
    if (isGiven(path)) settings.weights[half] = value(path) as number;
  }
  return settings;
}

/** Of one run of a query: beyond a few, a short text gains nothing. */
const MODEL_THREADS_MAX = 4;

/** Key of the instance that `embedder.model` makes. */
export const MODEL_KEY = 'model';

export interface Config extends ObservabilityConfig {
  dataDir: string;
  host: string;
  port: number;
  allowedSites: AllowedSites;
  /** Paths of PEM files; undefined for plain HTTP. */
  tls: { certFile: string; keyFile: string } | undefined;
  partitions: number;
  /** 0 for never. */
  idleSeconds: number;
  /** 0 for never. */
  checkpointMs: number;
  auth: { mode: 'none' | 'static' | 'jwt'; adminKey: string; keys: KeyConfig[]; jwt: JwtConfig };
  chunking: Required<Chunking>;
  limits: LimitsConfig;
  /** What each tenant may use, where it has no quota of its own. 0 is no limit. */
  tenantLimits: TenantLimits;
  parsing: { timeoutMs: number; memoryMb: number; textBytesMax: number };
  queryLog: { enabled: boolean; entriesMax: number; ageDaysMax: number };
  common: { enabled: boolean; tenant: string; collection: string };
  search: SearchConfig;
  embedder: EmbedderConfig;
  rerankers: RerankerInstance[];
  threads: { embed: EmbedThreads; batch: number };
}

/** Empty strings are absent. */
interface EmbedderConfig {
  /** Selector of what a collection gets that names none. */
  default: string;
  /** The built-in one is the last. */
  instances: EmbedderInstance[];
  cacheBytesMax: number;
}

/** Empty strings are absent. */
interface JwtConfig {
  secret: string;
  publicKeyFile: string;
  jwksFile: string;
  issuer: string;
  audience: string;
}

/** `value`: the checked value of a key, given or default. `isGiven`: whether the operator gave it. */
export function assemble(value: (path: string) => unknown, isGiven: (path: string) => boolean): Config {
  const text = (path: string): string => value(path) as string;
  const number = (path: string): number => value(path) as number;
  const flag = (path: string): boolean => value(path) as boolean;
  return {
    dataDir: text('data_dir'),
    host: text('server.host'),
    port: number('server.port'),
    allowedSites: {
      hosts: (value('server.allowed_hosts') as string[]).map((host) => host.toLowerCase()),
      origins: (value('server.allowed_origins') as string[]).map((origin) => new URL(origin).origin),
    },
    tls:
      text('server.tls.cert') + text('server.tls.key') === ''
        ? undefined
        : { certFile: text('server.tls.cert'), keyFile: text('server.tls.key') },
    partitions: number('storage.partitions'),
    ...assembleMemory(number, flag('checkpoints.enabled')),
    auth: {
      mode: text('auth.mode') as Config['auth']['mode'],
      adminKey: text('auth.admin_key'),
      keys: value('auth.keys') as KeyConfig[],
      jwt: assembleJwt(text),
    },
    chunking: {
      strategy: text('chunking.strategy') as 'fixed' | 'none',
      size: number('chunking.size'),
      overlap: number('chunking.overlap'),
    },
    limits: assembleLimits(number),
    tenantLimits: assembleTenantLimits(number, text('auth.mode') === 'none' && !isGiven('limits.tenant.max_in_flight')),
    parsing: {
      timeoutMs: number('limits.parse_timeout_seconds') * 1000,
      memoryMb: number('limits.parse_memory_mb'),
      textBytesMax: number('limits.text_bytes_max'),
    },
    queryLog: {
      enabled: flag('query_log.enabled'),
      entriesMax: number('query_log.max_entries'),
      ageDaysMax: number('query_log.max_age_days'),
    },
    common: { enabled: flag('common.enabled'), tenant: text('common.tenant'), collection: text('common.collection') },
    search: assembleSearch(value, isGiven),
    embedder: assembleEmbedder(value),
    rerankers: value('rerank.instances') as RerankerInstance[],
    threads: { embed: assembleEmbedThreads(number, isGiven, hasModel(value)), batch: number('threads.batch') },
    ...assembleObservability(text, number, flag),
  };
}

function assembleMemory(
  number: (path: string) => number,
  hasCheckpoints: boolean,
): Pick<Config, 'idleSeconds' | 'checkpointMs'> {
  return {
    idleSeconds: number('collections.idle_seconds'),
    checkpointMs: hasCheckpoints ? number('checkpoints.interval_seconds') * 1000 : 0,
  };
}

const hasModel = (value: (path: string) => unknown): boolean =>
  [...(value('embedder.instances') as EmbedderInstance[]), ...(value('rerank.instances') as RerankerInstance[])].some(
    ({ spec }) => spec.type === 'onnx',
  );

function assembleJwt(text: (path: string) => string): JwtConfig {
  return {
    secret: text('auth.jwt.secret'),
    publicKeyFile: text('auth.jwt.public_key_file'),
    jwksFile: text('auth.jwt.jwks_file'),
    issuer: text('auth.jwt.issuer'),
    audience: text('auth.jwt.audience'),
  };
}

function assembleEmbedder(value: (path: string) => unknown): EmbedderConfig {
  return {
    default: (value('embedder.default') as string) || (value('embedder.model') === '' ? '' : MODEL_KEY),
    instances: value('embedder.instances') as EmbedderInstance[],
    cacheBytesMax: (value('embedder.query_cache_mb') as number) * 2 ** 20,
  };
}

/**
 * A query may take every core, up to four; the sessions of documents share the cores. Without a local model a few
 * threads are enough.
 */
function assembleEmbedThreads(
  number: (path: string) => number,
  isGiven: (path: string) => boolean,
  hasModel: boolean,
): EmbedThreads {
  const cores = availableParallelism();
  const countOf = (path: string): number =>
    hasModel || isGiven(path) ? number(path) : Math.max(1, Math.floor(cores / 4));
  const [queries, documents] = [countOf('threads.embed_queries'), countOf('threads.embed')];
  return {
    queries,
    documents,
    queryModel: Math.min(cores, MODEL_THREADS_MAX),
    documentModel: Math.max(1, Math.floor(cores / documents)),
  };
}
