// All configuration keys with their place in Config, kind, default and meaning. This list is the source of validation,
// types, the table in docs/operations/configuration.md (scripts/docs-tables.mjs) and the file of `sheaf init`. Links in
// a meaning are relative to that page. Keys of earlier releases are at the end.
import { availableParallelism } from 'node:os';
import { CHUNKING_STRATEGIES, LANGUAGE_DEFAULT, LANGUAGES } from '../api/choices.js';
import {
  BATCH_ITEMS_MAX,
  CHUNK_OVERLAP_DEFAULT,
  CHUNK_SIZE_DEFAULT,
  CHUNK_SIZE_MAX,
  CHUNK_SIZE_MIN,
  FUSION_K_DEFAULT,
  FUSION_K_MAX,
  FUSION_WEIGHT_MAX,
  SHARDS_MAX,
} from '../api/limits.js';
import { tenantKeys } from './auth.js';
import {
  type Kind,
  MIB,
  addresses,
  choice,
  choices,
  flag,
  hours,
  integer,
  mappings,
  mebibytes,
  number,
  seconds,
  secret,
  slug,
  address,
  text,
} from './kinds.js';
import { LOG_STORES_MAX } from '../base/meters.js';
import { FRONT_THREADS_MAX, scaleOf } from './scale.js';

export interface ConfigKey<T = unknown> {
  readonly path: string;
  readonly kind: Kind<T>;
  /** The default as an operator would write it. */
  readonly fallback: unknown;
  readonly meaning: string;
  /** Replaces the default in the table if that is empty or depends on the machine. */
  readonly fallbackText?: string | undefined;
}

const key = <T>(path: string, kind: Kind<T>, fallback: unknown, meaning: string, fallbackText?: string) =>
  ({ path, kind, fallback, meaning, fallbackText }) satisfies ConfigKey<T> as ConfigKey<T>;

const cores = availableParallelism();
const { shards, inFlight, frontThreads, logWriters } = scaleOf(cores, { hasModel: false });

const SETTINGS = {
  dataDir: key(
    'data_dir',
    text,
    './data',
    'The data directory. Only one server at a time may use it. What is written there is for the user of the server alone.',
  ),
  host: key(
    'server.host',
    text,
    '127.0.0.1',
    'Address to listen on. Any address other than loopback requires `auth.mode: static` or `jwt`.',
  ),
  port: key('server.port', integer(0, 65_535), 8080, 'Port to listen on; 0 selects a free port.'),
  frontThreads: key(
    'server.threads',
    integer(0, FRONT_THREADS_MAX),
    frontThreads,
    'Number of front threads. Each serves a share of the connections and runs short searches and reads documents by itself. With 0 the main thread serves all connections, and search workers run all searches.',
    'the number of cores (`threads`), less an eighth from 8 cores on',
  ),
  allowedSites: {
    hosts: key(
      'server.allowed_hosts',
      addresses('a list of host names, such as search.example.com', /^[\w.-]+(:\d{1,5})?$/, (host) =>
        host.toLowerCase(),
      ),
      [],
      'For `auth.mode: none`: host names, with or without a port, that requests may use in addition to localhost and IP addresses, such as that of a reverse proxy.',
      'none',
    ),
    origins: key(
      'server.allowed_origins',
      addresses(
        'a list of origins, such as https://search.example.com',
        /^https?:\/\/[^/?#@]+$/,
        (origin) => new URL(origin).origin,
      ),
      [],
      'Origins whose pages may call a server with `auth.mode: none`, and `/mcp` in any mode, in addition to those of its own host and of this machine.',
      'none',
    ),
  },
  corsOrigins: key(
    'server.cors.origins',
    addresses('a list of origins, such as https://search.example.com, or *', /^(\*|https?:\/\/[^/?#@]+)$/, (origin) =>
      origin === '*' ? origin : new URL(origin).origin,
    ),
    [],
    'Origins whose pages may call the server and read its answers (CORS): `https://search.example.com`, or `*` for all, which requires keys. See [Tenants and keys](../guide/tenants-and-auth.md#browsers).',
    'none',
  ),
  tls: {
    certFile: key(
      'server.tls.cert',
      text,
      '',
      'PEM file of the certificate chain, for HTTPS; requires `server.tls.key`.',
      'plain HTTP',
    ),
    keyFile: key('server.tls.key', text, '', 'PEM file of the private key of the certificate.', 'plain HTTP'),
  },
  partitions: key(
    'storage.partitions',
    integer(1, SHARDS_MAX),
    shards,
    'Number of shards of a new data directory; an existing one keeps its number. More shards write and index large collections faster; a collection is spread over as many of them as its size needs.',
    'a quarter of the cores, 2 to 16; below four cores 1',
  ),
  collections: {
    partitions: key(
      'collections.partitions',
      integer(1, SHARDS_MAX),
      1,
      'Number of shards over which a new collection is spread if its `partitions` are not given; at most `storage.partitions`.',
    ),
    chunksPerPartition: key(
      'collections.chunks_per_partition',
      integer(0, 1_000_000_000),
      200_000,
      'A collection with more chunks than this in each of its shards is spread over twice as many, in the background; 0 disables that.',
    ),
  },
  cluster: {
    servers: key(
      'cluster.nats',
      addresses(
        'a list of NATS servers, such as nats://10.0.0.1:4222',
        /^(nats:\/\/|tls:\/\/)?[\w.-]+(:\d{1,5})?$/,
        (server) => server,
      ),
      [],
      'Servers of NATS JetStream, which makes this server a node of a [cluster](cluster.md). All nodes have the same ones.',
      'none: a single machine',
    ),
    monitors: key(
      'cluster.monitors',
      addresses(
        'a list of addresses, such as http://10.0.0.1:8222',
        /^https?:\/\/[^/?#@]+$/,
        (url) => new URL(url).origin,
      ),
      [],
      'The monitoring endpoints of all NATS servers, whose versions and settings are checked at the start.',
      'none',
    ),
    name: key('cluster.name', slug, 'main', 'Name of the cluster, which its stream is named by.'),
    replicas: key('cluster.replicas', integer(1, 5), 3, 'Number of NATS servers that keep a copy of the command log.'),
    searchCopies: key(
      'cluster.search_copies',
      integer(0, 16),
      0,
      'Number of nodes that hold a collection in memory and search it for the others; all have it on disk. 0: all nodes hold it.',
    ),
    placement: key(
      'cluster.placement',
      choice('collections', 'shards'),
      'collections',
      'What `cluster.search_copies` places on nodes: whole collections, or each shard of a collection, so that one collection may take the memory of several nodes and its searches go to all of them.',
    ),
    leaveMs: key(
      'cluster.leave_s',
      seconds(5, 86_400),
      60,
      'When a node has not been heard of for so many seconds, others take over the collections that it holds in memory.',
    ),
    listen: key(
      'cluster.listen',
      address,
      '',
      'Address and port at which this node answers other nodes; port 0 is any free one.',
      'server.host with a free port',
    ),
    advertise: key(
      'cluster.advertise',
      address,
      '',
      'Address and port by which other nodes reach this one, where these differ from `cluster.listen`.',
      'where it listens; the first address of the machine, if it listens on all',
    ),
    logBytesMax: key(
      'cluster.log_mb',
      mebibytes(64, 1024 * 1024),
      4096,
      'Size of the command log in the stream. Writes are refused while it is full; what all nodes have applied is deleted.',
    ),
    credentials: key('cluster.credentials', text, '', 'File with the credentials for the NATS servers.', 'none'),
    ca: key(
      'cluster.tls_ca',
      text,
      '',
      'PEM file of the authority that has signed the certificates of the NATS servers.',
      'that of the system',
    ),
  },
  journalBytesMax: key(
    'storage.journal_mb',
    mebibytes(0, 1_048_576),
    0,
    'Size of the journal that the catalog and each shard keep of all changes, for `sheaf restore --at`; the oldest changes go first. 0 keeps no journal and deletes what there is of one.',
  ),
  idleSeconds: key(
    'collections.idle_seconds',
    integer(0, 31_536_000),
    300,
    'A small collection that is not used for this long is evicted from memory, and loaded again when it is used; 0 disables eviction.',
  ),
  checkpoints: {
    enabled: key(
      'checkpoints.enabled',
      flag,
      true,
      'Whether the memory of the shards is saved to files, so that a restart can load it; otherwise large collections are indexed again.',
    ),
    intervalMs: key(
      'checkpoints.interval_seconds',
      seconds(1, 31_536_000),
      300,
      'How often checkpoints are written while data changes; they are also written after many changes and at a stop.',
    ),
  },
  auth: {
    mode: key(
      'auth.mode',
      choice('none', 'static', 'jwt'),
      'none',
      '`none`: everybody may do everything, on loopback only. `static`: keys. `jwt`: signed tokens, and keys.',
    ),
    adminKey: key(
      'auth.admin_key',
      secret,
      '',
      'The admin key of the modes `static` and `jwt`. If it is not set, one is created and stored in `data_dir/admin.key` (mode 0600).',
      'created at the first start',
    ),
    keys: key(
      'auth.keys',
      tenantKeys,
      [],
      'Tenant keys: a list of `{name, tenant, key}`, or `key_sha256` in place of `key`; optionally with `expires` (an ISO 8601 time), `scopes` (of `search`, `ingest`, `manage`), `collections`, `filters` that apply to every search, and limits of the key itself: `requests_per_second`, `burst`, `max_in_flight`.',
      'none',
    ),
    jwt: {
      secret: key(
        'auth.jwt.secret',
        secret,
        '',
        'Secret of HS256 tokens, at least 32 bytes. Set exactly one of this and the two files.',
        'none',
      ),
      publicKeyFile: key(
        'auth.jwt.public_key_file',
        text,
        '',
        'PEM file of the public key of RS256 or EdDSA tokens.',
        'none',
      ),
      jwksFile: key(
        'auth.jwt.jwks_file',
        text,
        '',
        'JWKS file with the public keys, which are selected by `kid`.',
        'none',
      ),
      issuer: key('auth.jwt.issuer', text, '', 'Required `iss` of a token.', 'any'),
      audience: key('auth.jwt.audience', text, '', 'Required `aud` of a token.', 'any'),
    },
  },
  chunking: {
    strategy: key(
      'chunking.strategy',
      choice(...CHUNKING_STRATEGIES),
      'fixed',
      'Chunking strategy of collections that set none.',
    ),
    size: key(
      'chunking.size',
      integer(CHUNK_SIZE_MIN, CHUNK_SIZE_MAX),
      CHUNK_SIZE_DEFAULT,
      'Characters per chunk at most; not for `none`.',
    ),
    overlap: key(
      'chunking.overlap',
      integer(0, CHUNK_SIZE_MAX / 4),
      CHUNK_OVERLAP_DEFAULT,
      'Characters shared with the previous chunk; at most a quarter of the size.',
    ),
  },
  limits: {
    batchBytesMax: key(
      'limits.max_json_bytes',
      integer(1024, 2 ** 30),
      32 * MIB,
      'Largest batch of documents or searches, and largest line of NDJSON. Other JSON bodies are limited to 256 KiB, plus 2 MiB for the vector of a search, and MCP messages to 1 MiB, or to this value if it is less.',
    ),
    fileBytesMax: key('limits.max_file_bytes', integer(1024, 2 ** 31), 512 * MIB, 'Largest ingest body: file or JSON.'),
    archiveBytesMax: key(
      'limits.max_archive_bytes',
      integer(1024, 2 ** 50),
      8192 * MIB,
      'Largest archive that a tenant may restore. There is no limit for the admin.',
    ),
    metadataBytesMax: key(
      'limits.max_metadata_bytes',
      integer(64, 2 ** 24),
      64 * 1024,
      'Largest metadata of a document, as JSON.',
    ),
    batchItemsMax: key(
      'limits.max_batch_items',
      integer(1, 1_000_000),
      BATCH_ITEMS_MAX,
      'Maximum number of documents in a batch. NDJSON has no limit.',
    ),
    parseTimeoutMs: key(
      'limits.parse_timeout_seconds',
      seconds(1, 3600),
      60,
      'A parser that takes longer is terminated, and the file is rejected with `file_unreadable`.',
    ),
    inFlightMax: key(
      'limits.max_in_flight',
      integer(1, 1_000_000),
      inFlight,
      'Maximum number of requests in progress; further ones get 503 `overloaded`.',
      '128 for each core, 1024 to 4096',
    ),
    requestTimeoutMs: key(
      'limits.request_timeout_seconds',
      seconds(1, 86_400),
      300,
      'A request that is not answered after this long gets 503 `overloaded`.',
    ),
    idempotencyMs: key(
      'limits.idempotency_seconds',
      seconds(60, 30 * 86_400),
      86_400,
      'How long the answer of a write with an `Idempotency-Key` is kept; a repetition gets it until then.',
    ),
    stopDelayMs: key(
      'limits.stop_delay_seconds',
      seconds(0, 3600),
      0,
      'How long a server that is told to stop goes on before it does: it is not ready any more, and closes each connection after its reply, so that load balancers and clients go elsewhere.',
    ),
    drainTimeoutMs: key(
      'limits.drain_timeout_seconds',
      seconds(1, 3600),
      30,
      'How long a stop waits for requests in progress.',
    ),
  },
  /** Limits of tenants without a quota. 0 means no limit. */
  tenantLimits: {
    requestsPerSecond: key(
      'limits.tenant.requests_per_second',
      number(0, 1e6),
      0,
      'Maximum number of requests of a tenant per second; further ones get 429 `tenant_rate_limited`.',
      '0: no limit',
    ),
    burst: key(
      'limits.tenant.burst',
      integer(0, 1_000_000),
      0,
      'Maximum number of requests of a tenant at once.',
      '0: twice the rate',
    ),
    inFlightMax: key(
      'limits.tenant.max_in_flight',
      integer(0, 1_000_000),
      42,
      'Maximum number of requests of a tenant in progress; further ones get 429 `tenant_rate_limited`. 0 means no limit.',
      '42; without keys no limit',
    ),
    collectionsMax: key(
      'limits.tenant.max_collections',
      integer(0, 1e9),
      0,
      'Maximum number of collections of a tenant; beyond it, 429 `collection_limit_reached`.',
      '0: no limit',
    ),
    chunksPerCollectionMax: key(
      'limits.tenant.max_chunks_per_collection',
      integer(0, 2 ** 32 - 1),
      0,
      'Maximum number of chunks in a collection; beyond it, 429 `chunk_limit_reached`.',
      '0: no limit',
    ),
  },
  backups: {
    folder: key(
      'backups.folder',
      text,
      '',
      'A folder in which the server makes [backups](backup-and-restore.md#scheduled-backups) of everything by itself.',
      'none',
    ),
    s3: {
      url: key(
        'backups.s3.url',
        text,
        '',
        'The address of a bucket of S3-compatible storage for the backups, in place of a folder, such as https://s3.eu-central-1.amazonaws.com/backups.',
        'none',
      ),
      region: key('backups.s3.region', text, 'auto', 'The region of the bucket.'),
      prefix: key(
        'backups.s3.prefix',
        text,
        '',
        'What the names of the objects begin with, such as sheaf/.',
        'nothing',
      ),
      accessKeyId: key('backups.s3.access_key_id', secret, '', 'The key that may list, write and delete there.'),
      secretAccessKey: key('backups.s3.secret_access_key', secret, '', 'The secret of the key.'),
    },
    everyMs: key('backups.every_hours', hours(1, 24 * 366), 24, 'How often.'),
    keep: key('backups.keep', integer(1, 10_000), 7, 'How many of them are kept; the oldest are deleted.'),
    incremental: key(
      'backups.incremental',
      flag,
      false,
      'Whether a backup stores only [what the ones before it do not have](backup-and-restore.md#incremental-backups).',
    ),
  },
  queryLog: {
    enabled: key('query_log.enabled', flag, true, 'Whether searches are logged; otherwise answers have no `query_id`.'),
    entriesMax: key(
      'query_log.max_entries',
      integer(1, 1e9),
      10_000,
      'Maximum number of entries per collection; the oldest are removed.',
    ),
    writers: key(
      'query_log.writers',
      integer(1, LOG_STORES_MAX),
      logWriters,
      'Number of log workers that store searches. It can be changed at each start: entries in the stores of former workers are read.',
      'an eighth of the cores (`threads`), 1 to 4; below 16 cores 1',
    ),
    ageDaysMax: key('query_log.max_age_days', integer(1, 36_500), 30, 'Entries older than this are removed.'),
  },
  common: {
    enabled: key(
      'common.enabled',
      flag,
      false,
      'Whether there is a common collection, for `/v1/search` and `include_common`.',
    ),
    tenant: key('common.tenant', text, 'global', 'Tenant of the common collection.'),
    collection: key('common.collection', text, 'common', 'Name of the common collection; it is created at the start.'),
  },
  search: {
    modes: key(
      'search.modes',
      choices('vector', 'boost', 'hybrid'),
      ['vector', 'boost', 'hybrid'],
      'Search modes that the server serves.',
      'all three',
    ),
    boostWeight: key(
      'search.boost_weight',
      number(0, 10),
      0.1,
      'In mode boost, the score bonus of a chunk that contains every word of the query.',
    ),
    stringOperators: key(
      'search.string_operators',
      flag,
      false,
      'Whether filter strings such as `!x`, `x*`, `>5` are operators, as in PaveDB.',
    ),
    /** Whether the modes boost and hybrid rank by terms alone while the embedder does not answer. */
    degrade: key(
      'search.degrade',
      flag,
      false,
      'Whether searches in mode boost and hybrid rank by terms alone, with `degraded` in the answer, while the embedder does not answer; otherwise they get 503 `embedder_unavailable`.',
    ),
    /**
     * Default fusion of mode hybrid. GET searches and MCP tools cannot set fusion, so for them this is the only way.
     */
    fusion: {
      method: key(
        'search.fusion.method',
        choice('rank', 'score'),
        'rank',
        'Default fusion of the two rankings in mode hybrid: `rank` adds weight/(k+rank), `score` adds weight × cosine and weight × BM25 over the best BM25.',
      ),
      k: key('search.fusion.k', integer(0, FUSION_K_MAX), FUSION_K_DEFAULT, 'The constant k of method `rank`.'),
      vectorWeight: key(
        'search.fusion.vector_weight',
        number(0, FUSION_WEIGHT_MAX),
        1,
        'Weight of the vector ranking; a ranking with weight 0 is not searched.',
        '`1`; for method `score` `0.6`',
      ),
      lexicalWeight: key(
        'search.fusion.lexical_weight',
        number(0, FUSION_WEIGHT_MAX),
        1,
        'Weight of the term ranking.',
        '`1`; for method `score` `0.4`',
      ),
    },
    language: key(
      'search.language',
      choice(...LANGUAGES),
      LANGUAGE_DEFAULT,
      'Language of collections that set none: mode hybrid reduces words to the stems of this language and ignores its stop words; `none` ranks words as they are. See [Languages](../guide/concepts.md#languages).',
    ),
  },
  embedder: {
    default: key(
      'embedder.default',
      text,
      '',
      'Selector of the embedder of collections that set none: an instance key, a type, `type:model` or a vector-space key.',
      'the model folder, else `builtin`',
    ),
    model: key(
      'embedder.model',
      text,
      '',
      'A model folder in the layout of sentence-transformers; it defines the instance `model`, which becomes the default.',
      'none',
    ),
    instances: key(
      'embedder.instances',
      mappings,
      [],
      'Embedder instances in addition to the built-in one, a list of mappings: see [Embedders](../guide/embedders.md).',
      'none',
    ),
    cacheBytesMax: key(
      'embedder.query_cache_mb',
      mebibytes(0, 1_048_576),
      64,
      'Size of the cache of query vectors; 0 disables it.',
    ),
  },
  rerankers: key(
    'rerank.instances',
    mappings,
    [],
    'Reranker instances for the field `rerank` of a search: see [Rerank](../guide/rerank.md).',
    'none',
  ),
  threads: key(
    'threads',
    integer(1, 256),
    cores,
    'Number of cores that the server plans for. It starts as many search workers (at most 48), each of which searches all shards; a quarter as many batch workers for JSON and plain text, and the same number for files that need a parser; a quarter as many embed workers for documents, and the same number for query texts. With an ONNX model it starts as many embed workers as cores, but at most 4 for documents and 2 for queries, or an eighth and a sixteenth of the cores where that is more; each loads every local model.',
    'the number of cores',
  ),
  log: {
    level: key(
      'log.level',
      choice('debug', 'info', 'warn', 'error', 'silent'),
      'info',
      'Minimum level of the log, which is written as JSON lines to standard error. `debug` logs every request.',
    ),
    requestShare: key(
      'log.request_share',
      number(0, 1),
      0,
      'Share of the requests that are logged at level `info`: 0 for none, 1 for all. See [Observability](observability.md#logs).',
    ),
    slowMs: key(
      'log.slow_ms',
      number(0, 86_400_000),
      1000,
      'A request that takes longer is always logged at level `warn`, with its phases, except requests that are long by nature (archives, event streams). 0 disables this.',
    ),
  },
  metrics: {
    tenantLabels: key(
      'metrics.tenant_labels',
      integer(0, 1000),
      0,
      'Number of tenants with a label of their own in `sheaf_tenant_requests_total`; the others share one. With 0, no metric names a tenant.',
    ),
  },
  tracing: {
    enabled: key(
      'tracing.enabled',
      flag,
      false,
      'Whether requests are traced by OpenTelemetry; otherwise its SDK is not loaded.',
    ),
    endpoint: key(
      'tracing.endpoint',
      text,
      'http://127.0.0.1:4318/v1/traces',
      'Endpoint that spans are sent to, by OTLP over HTTP as JSON.',
    ),
    serviceName: key('tracing.service_name', text, 'sheaf', '`service.name` of the spans.'),
    sampleShare: key(
      'tracing.sample_share',
      number(0, 1),
      0.1,
      'Share of requests to trace, among those whose `traceparent` does not decide it.',
    ),
  },
};

interface KeyTree {
  readonly [name: string]: ConfigKey | KeyTree;
}
type ValuesOf<T> = T extends ConfigKey<infer V> ? V : { [N in keyof T]: ValuesOf<T[N]> };
/** The values of all keys, grouped as in SETTINGS. */
export type Settings = ValuesOf<typeof SETTINGS>;

const isKey = (node: ConfigKey | KeyTree): node is ConfigKey => typeof node.path === 'string';

const keysIn = (tree: KeyTree): ConfigKey[] =>
  Object.values(tree).flatMap((node) => (isKey(node) ? [node] : keysIn(node)));

export const CONFIG_KEYS: readonly ConfigKey[] = keysIn(SETTINGS);

/** `valueOf` returns the checked value of a key. */
export function settingsOf(valueOf: (key: ConfigKey) => unknown): Settings {
  const valuesIn = (tree: KeyTree): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(tree).map(([name, node]) => [name, isKey(node) ? valueOf(node) : valuesIn(node)]),
    );
  return valuesIn(SETTINGS) as Settings;
}

/** A key of an earlier release that a configuration may still contain. */
export interface RetiredKey {
  readonly path: string;
  /** Absent if the value is ignored; otherwise the value overrides what is derived from other keys. */
  readonly kind?: Kind<number>;
  /** What to use instead, or which value is fixed now. */
  readonly instead: string;
}

/** The release in which these keys become unknown. */
export const RETIRED_UNTIL = '0.11.0';

export const RETIRED_KEYS: readonly RetiredKey[] = [
  { path: 'search.threads', kind: integer(1, 48), instead: 'threads' },
  { path: 'threads.embed', kind: integer(1, 256), instead: 'threads' },
  { path: 'threads.embed_queries', kind: integer(1, 256), instead: 'threads' },
  { path: 'threads.batch', kind: integer(1, 256), instead: 'threads' },
  { path: 'search.hit_cache_mb', instead: 'each search worker has 32 MiB' },
  { path: 'search.recall_sample_seconds', instead: 'a search is sampled every minute, while no other is under way' },
  { path: 'limits.text_bytes_max', instead: 'it is 256 MiB, or half of limits.max_file_bytes where that is more' },
  { path: 'limits.parse_memory_mb', instead: 'it is 1024' },
  { path: 'limits.held_bytes_max', instead: 'it is 1 GiB' },
  { path: 'limits.body_timeout_seconds', instead: 'it is 10' },
  { path: 'tracing.queue_max', instead: 'it is 4096' },
  { path: 'tracing.timeout_seconds', instead: 'it is 10' },
];

/** Keys that have another name now. Their values count, unless the new name is set in the same place. */
export const RENAMED_KEYS: ReadonlyMap<string, string> = new Map([
  ['limits.json_bytes_max', 'limits.max_json_bytes'],
  ['limits.file_bytes_max', 'limits.max_file_bytes'],
  ['limits.archive_bytes_max', 'limits.max_archive_bytes'],
  ['limits.metadata_bytes_max', 'limits.max_metadata_bytes'],
  ['limits.batch_items_max', 'limits.max_batch_items'],
  ['limits.in_flight_max', 'limits.max_in_flight'],
]);

/** The environment variable of a key: SHEAF_SERVER__PORT for `server.port`. */
export const envNameOf = (path: string): string => `SHEAF_${path.toUpperCase().replaceAll('.', '__')}`;

export function retirementOf({ path, kind, instead }: RetiredKey): string {
  const name = `${path} (${envNameOf(path)})`;
  return kind
    ? `${name} will be removed in release ${RETIRED_UNTIL}; use ${instead} instead`
    : `${name} no longer has any effect: ${instead}; remove it`;
}

export const renamingOf = (path: string, now: string): string =>
  `${path} (${envNameOf(path)}) is called ${now} (${envNameOf(now)}) now; the old name will be removed in release ${RETIRED_UNTIL}`;
