// Every configuration key: where its value stands in Config, kind, default, meaning. From this one list come the checks
// at start, the types, the table in docs/operations/configuration.md (scripts/docs-tables.mjs) and what `sheaf init`
// writes. Links in a meaning are relative to that page. Below it are the keys of earlier releases.
import { availableParallelism } from 'node:os';
import { LANGUAGE_DEFAULT, LANGUAGES } from '../api/choices.js';
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
  integer,
  mappings,
  mebibytes,
  number,
  seconds,
  secret,
  text,
} from './kinds.js';

export interface ConfigKey<T = unknown> {
  readonly path: string;
  readonly kind: Kind<T>;
  /** As an operator would write it. */
  readonly fallback: unknown;
  readonly meaning: string;
  /** Replaces the fallback in the table, where it is empty or depends on the machine. */
  readonly fallbackText?: string | undefined;
}

const key = <T>(path: string, kind: Kind<T>, fallback: unknown, meaning: string, fallbackText?: string) =>
  ({ path, kind, fallback, meaning, fallbackText }) satisfies ConfigKey<T> as ConfigKey<T>;

const cores = availableParallelism();
/**
 * Each search walks the graphs of all shards: of 1, 2, 4 and 8 it does 1, .59, .37 and .24 as many a second
 * (`load vectors partitions`). Two build side by side, but where other threads want the cores too that wins a sixth of the
 * time, and costs each search two fifths.
 */
const shards = cores < 4 ? 1 : Math.min(Math.max(2, Math.round(cores / 4)), SHARDS_MAX);

const SETTINGS = {
  dataDir: key('data_dir', text, './data', 'Where everything is stored. One server at a time.'),
  host: key(
    'server.host',
    text,
    '127.0.0.1',
    'Address to listen on. Another than loopback wants `auth.mode: static` or `jwt`.',
  ),
  port: key('server.port', integer(0, 65_535), 8080, 'Port to listen on; 0 takes a free one.'),
  allowedSites: {
    hosts: key(
      'server.allowed_hosts',
      addresses('a list of host names, such as search.example.com', /^[\w.-]+(:\d{1,5})?$/, (host) =>
        host.toLowerCase(),
      ),
      [],
      'Of `auth.mode: none`: host names, with or without a port, that requests may name beside localhost and IP addresses; those of a reverse proxy that passes them on, for one.',
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
      'Origins whose pages may call a server of `auth.mode: none`, and `/mcp` in any mode, beside those of its own host and of this machine.',
      'none',
    ),
  },
  tls: {
    certFile: key(
      'server.tls.cert',
      text,
      '',
      'PEM file of the certificate chain, for HTTPS; wants `server.tls.key`.',
      'plain HTTP',
    ),
    keyFile: key('server.tls.key', text, '', 'PEM file of its private key.', 'plain HTTP'),
  },
  partitions: key(
    'storage.partitions',
    integer(1, SHARDS_MAX),
    shards,
    'Shards of a new data directory; an existing one keeps its number. More of them write and build faster and search slower.',
    'a quarter of the cores, 2 to 16; below four cores 1',
  ),
  idleSeconds: key(
    'collections.idle_seconds',
    integer(0, 31_536_000),
    300,
    'A small collection that is not used for so long leaves the memory, and comes back when it is; 0 is never.',
  ),
  checkpoints: {
    enabled: key(
      'checkpoints.enabled',
      flag,
      true,
      'Whether what is in memory is kept in files too, so that a restart reads it back; without, large collections are indexed anew.',
    ),
    intervalMs: key(
      'checkpoints.interval_seconds',
      seconds(1, 31_536_000),
      300,
      'How often that is written while something changes; after many changes and at a stop it is as well.',
    ),
  },
  auth: {
    mode: key(
      'auth.mode',
      choice('none', 'static', 'jwt'),
      'none',
      '`none`: everybody may do everything, on loopback only. `static`: keys. `jwt`: signed tokens, and keys too.',
    ),
    adminKey: key(
      'auth.admin_key',
      secret,
      '',
      'The admin key of the modes `static` and `jwt`. Without one it is made and kept in `data_dir/admin.key` (mode 0600).',
      'made at first start',
    ),
    keys: key(
      'auth.keys',
      tenantKeys,
      [],
      'Tenant keys: a list of `{name, tenant, key}`, or `key_sha256` in place of `key`; where wanted with `expires` (an ISO 8601 time), `scopes` (of `search`, `ingest`, `manage`), `collections`, and `filters` that hold for every search.',
      'none',
    ),
    jwt: {
      secret: key(
        'auth.jwt.secret',
        secret,
        '',
        'Secret of HS256 tokens, at least 32 bytes; exactly one of this and the two files.',
        'none',
      ),
      publicKeyFile: key(
        'auth.jwt.public_key_file',
        text,
        '',
        'PEM file of the public key of RS256 or EdDSA tokens.',
        'none',
      ),
      jwksFile: key('auth.jwt.jwks_file', text, '', 'JWKS file with the public keys, chosen by `kid`.', 'none'),
      issuer: key('auth.jwt.issuer', text, '', 'Wanted `iss` of a token.', 'any'),
      audience: key('auth.jwt.audience', text, '', 'Wanted `aud` of a token.', 'any'),
    },
  },
  chunking: {
    strategy: key('chunking.strategy', choice('fixed', 'none'), 'fixed', 'Chunking of collections that name none.'),
    size: key(
      'chunking.size',
      integer(CHUNK_SIZE_MIN, CHUNK_SIZE_MAX),
      CHUNK_SIZE_DEFAULT,
      'Characters a chunk, for `fixed`.',
    ),
    overlap: key(
      'chunking.overlap',
      integer(0, CHUNK_SIZE_MAX / 4),
      CHUNK_OVERLAP_DEFAULT,
      'Characters shared with the chunk before; at most a quarter of the size.',
    ),
  },
  limits: {
    batchBytesMax: key(
      'limits.json_bytes_max',
      integer(1024, 2 ** 30),
      32 * MIB,
      'Largest JSON batch, and largest line of NDJSON. Other JSON than that of ingest has at most 256 KiB, a search 2 MiB more for its vector, an MCP message 1 MiB, or this where it is less.',
    ),
    fileBytesMax: key('limits.file_bytes_max', integer(1024, 2 ** 31), 512 * MIB, 'Largest ingest body: file or JSON.'),
    archiveBytesMax: key(
      'limits.archive_bytes_max',
      integer(1024, 2 ** 50),
      8192 * MIB,
      'Largest archive that a tenant may restore. The admin may restore any.',
    ),
    metadataBytesMax: key(
      'limits.metadata_bytes_max',
      integer(64, 2 ** 24),
      64 * 1024,
      'Largest metadata of a document, as JSON.',
    ),
    batchItemsMax: key(
      'limits.batch_items_max',
      integer(1, 1_000_000),
      BATCH_ITEMS_MAX,
      'Documents of one JSON batch. NDJSON has no bound.',
    ),
    parseTimeoutMs: key(
      'limits.parse_timeout_seconds',
      seconds(1, 3600),
      60,
      'A parser that takes longer is ended, and the file is `file_unreadable`.',
    ),
    inFlightMax: key(
      'limits.in_flight_max',
      integer(1, 1_000_000),
      1024,
      'Requests worked on at a time; beyond: 503 `overloaded`.',
    ),
    requestTimeoutMs: key(
      'limits.request_timeout_seconds',
      seconds(1, 86_400),
      300,
      'A request that is not answered after this long gets 503 `overloaded`.',
    ),
    drainTimeoutMs: key(
      'limits.drain_timeout_seconds',
      seconds(1, 3600),
      30,
      'How long a stop waits for requests under way.',
    ),
  },
  /** What each tenant may use, where it has no quota of its own. 0 is no limit. */
  tenantLimits: {
    requestsPerSecond: key(
      'limits.tenant.requests_per_second',
      number(0, 1e6),
      0,
      'Requests a tenant may make a second; beyond: 429 `tenant_rate_limited`.',
      '0: no limit',
    ),
    burst: key(
      'limits.tenant.burst',
      integer(0, 1_000_000),
      0,
      'How many of them may come at once.',
      '0: twice the rate',
    ),
    inFlightMax: key(
      'limits.tenant.max_in_flight',
      integer(0, 1_000_000),
      42,
      'Requests of a tenant worked on at a time; beyond: 429 `tenant_rate_limited`. 0 is no limit.',
      '42; without keys no limit',
    ),
    collectionsMax: key(
      'limits.tenant.max_collections',
      integer(0, 1e9),
      0,
      'Collections a tenant may have; beyond: 429 `collection_limit_reached`.',
      '0: no limit',
    ),
    chunksPerCollectionMax: key(
      'limits.tenant.max_chunks_per_collection',
      integer(0, 2 ** 32 - 1),
      0,
      'Chunks a collection may have; beyond: 429 `chunk_limit_reached`.',
      '0: no limit',
    ),
  },
  queryLog: {
    enabled: key('query_log.enabled', flag, true, 'Whether searches are logged; without, answers have no `query_id`.'),
    entriesMax: key(
      'query_log.max_entries',
      integer(1, 1e9),
      10_000,
      'Entries kept for each collection; the oldest go first.',
    ),
    ageDaysMax: key('query_log.max_age_days', integer(1, 36_500), 30, 'Entries older than this go.'),
  },
  common: {
    enabled: key(
      'common.enabled',
      flag,
      false,
      'Whether there is a common collection: for `/v1/search` and `include_common`.',
    ),
    tenant: key('common.tenant', text, 'global', 'Tenant of the common collection.'),
    collection: key('common.collection', text, 'common', 'Name of the common collection; made at start.'),
  },
  search: {
    modes: key(
      'search.modes',
      choices('vector', 'boost', 'hybrid'),
      ['vector', 'boost', 'hybrid'],
      'Search modes served.',
      'all three',
    ),
    boostWeight: key(
      'search.boost_weight',
      number(0, 10),
      0.1,
      'What a chunk gains in mode boost that has every word of the query.',
    ),
    stringOperators: key(
      'search.string_operators',
      flag,
      false,
      'Whether filter strings such as `!x`, `x*`, `>5` are operators, as in PaveDB.',
    ),
    /** Whether modes boost and hybrid answer by words alone while the embedder does not answer. */
    degrade: key(
      'search.degrade',
      flag,
      false,
      'Whether searches in mode boost and hybrid answer by words alone, told by `degraded` in the answer, while the embedder does not answer; else 503 `embedder_unavailable`.',
    ),
    /** Of mode hybrid, where a search does not say. A GET search and a tool of MCP cannot: for them this is the only way. */
    fusion: {
      method: key(
        'search.fusion.method',
        choice('rank', 'score'),
        'rank',
        'How mode hybrid fuses its halves where a search does not say: `rank` by weight/(k+rank), `score` by weight × cosine and weight × BM25 over the best BM25.',
      ),
      k: key('search.fusion.k', integer(0, FUSION_K_MAX), FUSION_K_DEFAULT, 'k of method `rank`.'),
      vectorWeight: key(
        'search.fusion.vector_weight',
        number(0, FUSION_WEIGHT_MAX),
        1,
        'What the vectors weigh; a half that weighs 0 is not searched.',
        '`1`; of method `score` `0.6`',
      ),
      lexicalWeight: key(
        'search.fusion.lexical_weight',
        number(0, FUSION_WEIGHT_MAX),
        1,
        'What the words weigh.',
        '`1`; of method `score` `0.4`',
      ),
    },
    language: key(
      'search.language',
      choice(...LANGUAGES),
      LANGUAGE_DEFAULT,
      'Language of collections that name none: mode hybrid ranks words by its stems, without its stop words; `none` ranks them as they stand. See [Languages](../guide/concepts.md#languages).',
    ),
  },
  embedder: {
    default: key(
      'embedder.default',
      text,
      '',
      'Selector of the embedder that collections get which name none: an instance key, a type, `type:model` or a vector-space key.',
      'the model folder, else `builtin`',
    ),
    model: key(
      'embedder.model',
      text,
      '',
      'A model folder in the layout of sentence-transformers; it becomes the instance `model`, and the default.',
      'none',
    ),
    instances: key(
      'embedder.instances',
      mappings,
      [],
      'Embedder instances beside the built-in one, a list of mappings: see [Embedders](../guide/embedders.md).',
      'none',
    ),
    cacheBytesMax: key(
      'embedder.query_cache_mb',
      mebibytes(0, 1_048_576),
      64,
      'Memory for the vectors of query texts that have been asked for before; 0 is none.',
    ),
  },
  rerankers: key(
    'rerank.instances',
    mappings,
    [],
    'Rerankers for `rerank` of a search: see [Rerank](../guide/rerank.md).',
    'none',
  ),
  threads: key(
    'threads',
    integer(1, 256),
    cores,
    'How many cores the server plans for. There are as many search workers (at most 48), each of which searches all shards; a quarter as many batch workers for JSON and plain text, and again for files with a parser; a quarter as many embed workers for documents, and again for the texts of searches. With an ONNX model there are as many embed workers as cores, at most 4 for documents and 2 for searches; each holds every local model.',
    'the cores',
  ),
  log: {
    level: key(
      'log.level',
      choice('debug', 'info', 'warn', 'error', 'silent'),
      'info',
      'What is logged, as JSON lines on standard error. `debug` has a line a request.',
    ),
    requestShare: key(
      'log.request_share',
      number(0, 1),
      0,
      'Share of the requests that have a line of level `info`: 0 for none, 1 for all. See [Observability](observability.md#logs).',
    ),
    slowMs: key(
      'log.slow_ms',
      number(0, 86_400_000),
      1000,
      'A request that takes longer always has a line, of level `warn`, with its phases; long ones by nature (archives, event streams) have none. 0 is never.',
    ),
  },
  metrics: {
    tenantLabels: key(
      'metrics.tenant_labels',
      integer(0, 1000),
      0,
      'How many tenants have a label of their own in `sheaf_tenant_requests_total`; others count together. 0: no metric names a tenant.',
    ),
  },
  tracing: {
    enabled: key(
      'tracing.enabled',
      flag,
      false,
      'Whether requests are traced by OpenTelemetry. Without, its SDK is not even loaded.',
    ),
    endpoint: key(
      'tracing.endpoint',
      text,
      'http://127.0.0.1:4318/v1/traces',
      'Where spans go, by OTLP over HTTP as JSON.',
    ),
    serviceName: key('tracing.service_name', text, 'sheaf', '`service.name` of the spans.'),
    sampleShare: key(
      'tracing.sample_share',
      number(0, 1),
      0.1,
      'Share of the requests that are traced, of those whose `traceparent` does not decide it.',
    ),
  },
};

interface KeyTree {
  readonly [name: string]: ConfigKey | KeyTree;
}
type ValuesOf<T> = T extends ConfigKey<infer V> ? V : { [N in keyof T]: ValuesOf<T[N]> };
/** The values of all keys, in the groups of SETTINGS. */
export type Settings = ValuesOf<typeof SETTINGS>;

const isKey = (node: ConfigKey | KeyTree): node is ConfigKey => typeof node.path === 'string';

const keysIn = (tree: KeyTree): ConfigKey[] =>
  Object.values(tree).flatMap((node) => (isKey(node) ? [node] : keysIn(node)));

export const CONFIG_KEYS: readonly ConfigKey[] = keysIn(SETTINGS);

/** `valueOf` gives the checked value of a key. */
export function settingsOf(valueOf: (key: ConfigKey) => unknown): Settings {
  const valuesIn = (tree: KeyTree): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(tree).map(([name, node]) => [name, isKey(node) ? valueOf(node) : valuesIn(node)]),
    );
  return valuesIn(SETTINGS) as Settings;
}

/** A key of an earlier release, which a configuration may still have. */
export interface RetiredKey {
  readonly path: string;
  /** Absent: its value is not even looked at. Otherwise it still counts, in place of what follows from another key. */
  readonly kind?: Kind<number>;
  /** What to do, or what holds now. */
  readonly instead: string;
}

/** The release from which these keys are unknown ones. */
export const RETIRED_UNTIL = '0.11.0';

export const RETIRED_KEYS: readonly RetiredKey[] = [
  { path: 'search.threads', kind: integer(1, 48), instead: 'threads' },
  { path: 'threads.embed', kind: integer(1, 256), instead: 'threads' },
  { path: 'threads.embed_queries', kind: integer(1, 256), instead: 'threads' },
  { path: 'threads.batch', kind: integer(1, 256), instead: 'threads' },
  { path: 'search.hit_cache_mb', instead: 'each search worker has 32 MiB' },
  { path: 'search.recall_sample_seconds', instead: 'a search is sampled every minute, while no other is under way' },
  { path: 'limits.text_bytes_max', instead: 'it is 256 MiB, or half of limits.file_bytes_max where that is more' },
  { path: 'limits.parse_memory_mb', instead: 'it is 1024' },
  { path: 'limits.held_bytes_max', instead: 'it is 1 GiB' },
  { path: 'limits.body_timeout_seconds', instead: 'it is 10' },
  { path: 'tracing.queue_max', instead: 'it is 4096' },
  { path: 'tracing.timeout_seconds', instead: 'it is 10' },
];

/** The environment variable of a key: that of `server.port` is SHEAF_SERVER__PORT. */
export const envNameOf = (path: string): string => `SHEAF_${path.toUpperCase().replaceAll('.', '__')}`;

export function retirementOf({ path, kind, instead }: RetiredKey): string {
  const name = `${path} (${envNameOf(path)})`;
  return kind
    ? `${name} is going with release ${RETIRED_UNTIL}: give ${instead} in its place`
    : `${name} has no effect any more: ${instead}; remove it`;
}
