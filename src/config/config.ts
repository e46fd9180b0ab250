// The configuration as the server uses it: the values of the keys, and values derived from several keys.
import type { FusionSettings } from '../api/search.js';
import { fusionSettings } from '../ranking/scores.js';
import type { EmbedThreads, EmbedderInstance, RerankerInstance } from '../embedding/embedder-spec.js';
import { MODEL_KEY, readEmbedders, readRerankers } from './embedders.js';
import type { Settings } from './keys.js';
import { ConfigError, MIB } from './kinds.js';
import { type Scale, scaleOf } from './scale.js';
import type { TlsFiles } from './tls.js';

/** The journal of a node, if no size is set. */
const NODE_JOURNAL_BYTES = 1024 * MIB;
/** Share of the largest file that may be text, if that exceeds the limit in TUNING. */
const TEXT_SHARE = 1 / 2;

/** Values that operators cannot choose better than the server; tests change them. */
const TUNING = {
  /** Size of the payload cache of each search worker; 0 disables it. */
  hitCacheBytes: 32 * MIB,
  /** Minimum time between two recall checks; 0 disables them. */
  recallSampleMs: 60_000,
  /** How often the collections that were written are looked at, whether they need more shards. */
  growthCheckMs: 5000,
  expiryLookMs: 1000,
  /** How often old answers of keyed requests are forgotten. */
  answersLookMs: 60_000,
  /** Maximum bytes of request bodies in memory, of all requests together. */
  heldBytesMax: 1024 * MIB,
  /**
   * A connection is closed if less than 1 KiB of a body arrives within this time; the HTTP library's own limit is 12 s.
   */
  bodyTimeoutMs: 10_000,
  /** Maximum text of one file, and unpacked size of a compressed file. */
  textBytesMax: 256 * MIB,
  /** Maximum memory for reading one file. */
  parseMemoryBytesMax: 1024 * MIB,
  /** Maximum number of buffered spans; further ones are dropped. */
  spansWaitingMax: 4096,
  /** Timeout for sending a batch of spans. */
  spansTimeoutMs: 10_000,
};

export interface Config
  extends Omit<Settings, 'tls' | 'checkpoints' | 'search' | 'embedder' | 'rerankers' | 'threads'> {
  /** PEM files; undefined for plain HTTP. */
  tls: TlsFiles | undefined;
  /** Interval of checkpoints in milliseconds; 0 disables them. */
  checkpointMs: number;
  search: Omit<Settings['search'], 'fusion'> & { fusion: FusionSettings };
  /** `default` is '' for the built-in embedder, which is the last of the instances. */
  embedder: Omit<Settings['embedder'], 'model' | 'instances'> & { instances: EmbedderInstance[] };
  rerankers: RerankerInstance[];
  threads: { search: number; batch: number; embed: EmbedThreads };
  /** What else follows from the number of cores. */
  scale: Pick<Scale, 'shardsCopied' | 'batchesRestored' | 'archiveProcesses'>;
  tuning: typeof TUNING;
}

/**
 * Limits of a tenant. In the configuration 0 means no limit; after conversion Infinity means no limit, and 0 allows
 * nothing.
 */
export type TenantLimits = Readonly<Settings['tenantLimits']>;

/** What the operator has set. */
export interface Given {
  has(path: string): boolean;
  /** The checked value of a retired key that still has an effect. */
  retired(path: string): number | undefined;
}

/** Reads model folders and the keys of endpoints. Throws ConfigError. */
export function deriveConfig(settings: Settings, given: Given, env: NodeJS.ProcessEnv): Config {
  const { tls, checkpoints, search, embedder, tenantLimits, limits, auth } = settings;
  const instances = readEmbedders(embedder.model, embedder.instances, env);
  const rerankers = readRerankers(settings.rerankers, env);
  const hasModel = [...instances, ...rerankers].some(({ spec }) => spec.type === 'onnx');
  const scale = scaleOf(settings.threads, { hasModel });
  const { shardsCopied, batchesRestored, archiveProcesses } = scale;
  // Without keys, tenants need not be protected from each other.
  const isUncapped = auth.mode === 'none' && !given.has('limits.tenant.max_in_flight');
  const isNode = settings.cluster.servers.length > 0;
  if (isNode && settings.cluster.monitors.length === 0)
    throw new ConfigError(
      'cluster.monitors should name the monitoring endpoints of all NATS servers, such as http://10.0.0.1:8222 ("http: 8222" in their configuration)',
    );
  checkBackups(settings.backups);
  return {
    ...settings,
    // A node keeps what it has applied, because the stream keeps it for a while only.
    journalBytesMax: settings.journalBytesMax || (isNode ? NODE_JOURNAL_BYTES : 0),
    tls: tls.certFile + tls.keyFile === '' ? undefined : tls,
    checkpointMs: checkpoints.enabled ? checkpoints.intervalMs : 0,
    tenantLimits: { ...tenantLimits, inFlightMax: isUncapped ? 0 : tenantLimits.inFlightMax },
    search: { ...search, fusion: fusionOf(search.fusion, given) },
    embedder: { ...embedder, default: embedder.default || (embedder.model === '' ? '' : MODEL_KEY), instances },
    rerankers,
    frontThreads: given.has('server.threads') ? settings.frontThreads : scale.frontThreads,
    queryLog: {
      ...settings.queryLog,
      writers: given.has('query_log.writers') ? settings.queryLog.writers : scale.logWriters,
    },
    threads: threadsOf(scale, settings.threads, given),
    scale: { shardsCopied, batchesRestored, archiveProcesses },
    tuning: { ...TUNING, textBytesMax: Math.max(TUNING.textBytesMax, TEXT_SHARE * limits.fileBytesMax) },
  };
}

function checkBackups({ folder, s3: { url, accessKeyId, secretAccessKey } }: Settings['backups']): void {
  if (url === '') return;
  if (folder !== '') throw new ConfigError('backups go to backups.folder or to backups.s3.url: set one of them');
  const { protocol, pathname } = URL.canParse(url) ? new URL(url) : { protocol: '', pathname: '/' };
  if (!/^https?:$/.test(protocol) || pathname === '/')
    throw new ConfigError('backups.s3.url should be the address of a bucket, such as https://s3.example.com/backups');
  if (accessKeyId === '' || secretAccessKey === '')
    throw new ConfigError('backups.s3.url needs backups.s3.access_key_id and backups.s3.secret_access_key');
}

/** A weight that is not set has the default of the method. */
function fusionOf(
  { method, k, vectorWeight, lexicalWeight }: Settings['search']['fusion'],
  given: Given,
): FusionSettings {
  const settings = fusionSettings({ method, k });
  if (given.has('search.fusion.vector_weight')) settings.weights.vector = vectorWeight;
  if (given.has('search.fusion.lexical_weight')) settings.weights.lexical = lexicalWeight;
  return settings;
}

/** The threads of each kind of worker. Retired keys that are still set count before the number of cores. */
function threadsOf(scale: Scale, cores: number, { retired }: Given): Config['threads'] {
  const documents = retired('threads.embed') ?? scale.embedThreads.documents;
  return {
    search: retired('search.threads') ?? scale.searchThreads,
    batch: retired('threads.batch') ?? scale.batchThreads,
    embed: {
      documents,
      queries: retired('threads.embed_queries') ?? scale.embedThreads.queries,
      queryModel: scale.queryModelThreads,
      // The sessions of documents share the cores.
      documentModel: Math.max(1, Math.floor(cores / documents)),
    },
  };
}
