// The configuration as the rest of the server takes it: the values of the keys, and what follows from several of them.
import type { FusionSettings } from '../api/search.js';
import { fusionSettings } from '../ranking/scores.js';
import type { EmbedThreads, EmbedderInstance, RerankerInstance } from '../embedding/embedder-spec.js';
import { MODEL_KEY, readEmbedders, readRerankers } from './embedders.js';
import type { Settings } from './keys.js';
import { MIB } from './kinds.js';
import type { TlsFiles } from './tls.js';

/** Threads of one run of a query: beyond a few, a short text gains nothing. */
const MODEL_THREADS_MAX = 4;
/** Of the largest file, as much may be text where that is more than TUNING says. */
const TEXT_SHARE = 1 / 2;

/** What no operator can choose better than the server; tests do. */
const TUNING = {
  /** Memory of each search worker for the payloads of hits; 0 for none. */
  hitCacheBytes: 32 * MIB,
  /** Between two checks of recall; 0 for none. */
  recallSampleMs: 60_000,
  /** Bodies in memory, of all requests together. */
  heldBytesMax: 1024 * MIB,
  /** A body of which less than 1 KiB comes in so long loses its connection; the HTTP library cuts it after 12 s. */
  bodyTimeoutMs: 10_000,
  /** Text taken out of one file, and what a compressed file may unpack to. */
  textBytesMax: 256 * MIB,
  /** Memory that reading one file may take. */
  parseMemoryBytesMax: 1024 * MIB,
  /** Spans that wait to be sent; beyond that they are dropped. */
  spansWaitingMax: 4096,
  /** How long a batch of spans may take to be sent. */
  spansTimeoutMs: 10_000,
};

export interface Config
  extends Omit<Settings, 'tls' | 'checkpoints' | 'search' | 'embedder' | 'rerankers' | 'threads'> {
  /** PEM files; undefined for plain HTTP. */
  tls: TlsFiles | undefined;
  /** 0 for never. */
  checkpointMs: number;
  search: Omit<Settings['search'], 'fusion'> & { fusion: FusionSettings };
  /** `default` is '' for the built-in one, which is the last of the instances. */
  embedder: Omit<Settings['embedder'], 'model' | 'instances'> & { instances: EmbedderInstance[] };
  rerankers: RerankerInstance[];
  threads: { search: number; batch: number; embed: EmbedThreads };
  tuning: typeof TUNING;
}

/** What a tenant may use: in the configuration 0 is no limit; once it is settled, Infinity is none, and 0 nothing at all. */
export type TenantLimits = Readonly<Settings['tenantLimits']>;

/** What an operator has given. */
export interface Given {
  has(path: string): boolean;
  /** The checked value of a retired key that still counts. */
  retired(path: string): number | undefined;
}

/** Reads model folders and the keys of endpoints. Throws ConfigError. */
export function deriveConfig(settings: Settings, given: Given, env: NodeJS.ProcessEnv): Config {
  const { tls, checkpoints, search, embedder, tenantLimits, limits, auth } = settings;
  const instances = readEmbedders(embedder.model, embedder.instances, env);
  const rerankers = readRerankers(settings.rerankers, env);
  const hasModel = [...instances, ...rerankers].some(({ spec }) => spec.type === 'onnx');
  // Without keys there are no tenants to keep apart.
  const isUncapped = auth.mode === 'none' && !given.has('limits.tenant.max_in_flight');
  return {
    ...settings,
    tls: tls.certFile + tls.keyFile === '' ? undefined : tls,
    checkpointMs: checkpoints.enabled ? checkpoints.intervalMs : 0,
    tenantLimits: { ...tenantLimits, inFlightMax: isUncapped ? 0 : tenantLimits.inFlightMax },
    search: { ...search, fusion: fusionOf(search.fusion, given) },
    embedder: { ...embedder, default: embedder.default || (embedder.model === '' ? '' : MODEL_KEY), instances },
    rerankers,
    threads: threadsOf(settings.threads, hasModel, given),
    tuning: { ...TUNING, textBytesMax: Math.max(TUNING.textBytesMax, TEXT_SHARE * limits.fileBytesMax) },
  };
}

/** A weight that is not given is that of the method. */
function fusionOf(
  { method, k, vectorWeight, lexicalWeight }: Settings['search']['fusion'],
  given: Given,
): FusionSettings {
  const settings = fusionSettings({ method, k });
  if (given.has('search.fusion.vector_weight')) settings.weights.vector = vectorWeight;
  if (given.has('search.fusion.lexical_weight')) settings.weights.lexical = lexicalWeight;
  return settings;
}

/**
 * A query may take every core, up to four; the sessions of documents share the cores. Without a local model a few
 * threads are enough.
 */
function threadsOf(cores: number, hasModel: boolean, { retired }: Given): Config['threads'] {
  const few = Math.max(1, Math.floor(cores / 4));
  const documents = retired('threads.embed') ?? (hasModel ? Math.min(4, cores) : few);
  return {
    search: retired('search.threads') ?? Math.min(48, cores),
    batch: retired('threads.batch') ?? few,
    embed: {
      documents,
      queries: retired('threads.embed_queries') ?? (hasModel ? Math.min(2, cores) : few),
      queryModel: Math.min(cores, MODEL_THREADS_MAX),
      documentModel: Math.max(1, Math.floor(cores / documents)),
    },
  };
}
