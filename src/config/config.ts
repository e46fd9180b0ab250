// The configuration as the rest of the server takes it: the checked values of config-keys.ts, grouped by who uses them.
// Called by config.ts at start.
import { availableParallelism } from 'node:os';
import { assembleLimits, assembleTenantLimits, type LimitsConfig } from './config-limits.js';
import { assembleObservability, type ObservabilityConfig } from './config-observability.js';
import { assembleSearch, type SearchConfig } from './config-search.js';
import type { EmbedderInstance, RerankerInstance } from './contract/embedder.js';
import type { Chunking } from './contract/resources.js';
import type { AllowedSites } from './http/site-guard.js';
import type { EmbedThreads } from './pool/embed-pool.js';
import type { KeyConfig } from './tenants/keys.js';
import type { TenantLimits } from './tenants/limits.js';

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
