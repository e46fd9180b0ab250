// Every configuration key: type, bounds, default, meaning. This one list gives the checks at start (config.ts) and the
// table in README.md (test/config.test.ts compares them). Read once, by main.
import { availableParallelism } from 'node:os';
import { LANGUAGE_DEFAULT, LANGUAGES } from '../api/languages.js';
import {
  ARCHIVE_BYTES_MAX,
  BATCH_ITEMS_MAX,
  CHUNK_OVERLAP_DEFAULT,
  CHUNK_SIZE_DEFAULT,
  CHUNK_SIZE_MAX,
  CHUNK_SIZE_MIN,
  FILE_BYTES_MAX,
  FUSION_K_DEFAULT,
  FUSION_K_MAX,
  FUSION_WEIGHT_MAX,
  HELD_BYTES_MAX,
  JSON_BYTES_MAX,
  METADATA_BYTES_MAX,
  SHARDS_MAX,
  TEXT_BYTES_MAX,
} from '../api/limits.js';

export type KeyType =
  | { kind: 'string' }
  | { kind: 'boolean' }
  | { kind: 'integer' | 'number'; min: number; max: number }
  | { kind: 'choices'; of: readonly string[] }
  | { kind: 'choice'; of: readonly string[] }
  | { kind: 'texts'; form: RegExp; wanted: string }
  | { kind: 'keys' }
  | { kind: 'mappings' };

export interface ConfigKey {
  path: string;
  type: KeyType;
  fallback: unknown;
  /** How the fallback is told in the table, where it depends on the machine. */
  fallbackText?: string;
  meaning: string;
}

const text: KeyType = { kind: 'string' };
const integer = (min: number, max: number): KeyType => ({ kind: 'integer', min, max });
const fusionWeight: KeyType = { kind: 'number', min: 0, max: FUSION_WEIGHT_MAX };
const cores = availableParallelism();
/**
 * Each search walks the graphs of all shards: of 1, 2, 4 and 8 it does 1, .59, .37 and .24 as many a second
 * (load/partitions.ts). Two build side by side, but where other threads want the cores too that wins a sixth of the
 * time, and costs each search two fifths.
 */
const shards = cores < 4 ? 1 : Math.min(Math.max(2, Math.round(cores / 4)), SHARDS_MAX);

export const CONFIG_KEYS: readonly ConfigKey[] = [
  { path: 'data_dir', type: text, fallback: './data', meaning: 'Where everything is stored. One server at a time.' },
  {
    path: 'server.host',
    type: text,
    fallback: '127.0.0.1',
    meaning: 'Address to listen on. Another than loopback wants `auth.mode: static` or `jwt`.',
  },
  { path: 'server.port', type: integer(0, 65_535), fallback: 8080, meaning: 'Port to listen on; 0 takes a free one.' },
  {
    path: 'server.allowed_hosts',
    type: { kind: 'texts', form: /^[\w.-]+(:\d{1,5})?$/, wanted: 'a list of host names, such as search.example.com' },
    fallback: [],
    fallbackText: 'none',
    meaning:
      'Of `auth.mode: none`: host names, with or without a port, that requests may name beside localhost and IP addresses; those of a reverse proxy that passes them on, for one.',
  },
  {
    path: 'server.allowed_origins',
    type: {
      kind: 'texts',
      form: /^https?:\/\/[^/?#@]+$/,
      wanted: 'a list of origins, such as https://search.example.com',
    },
    fallback: [],
    fallbackText: 'none',
    meaning:
      'Origins whose pages may call a server of `auth.mode: none`, and `/mcp` in any mode, beside those of its own host and of this machine.',
  },
  {
    path: 'server.tls.cert',
    type: text,
    fallback: '',
    fallbackText: 'plain HTTP',
    meaning: 'PEM file of the certificate chain, for HTTPS; wants `server.tls.key`.',
  },
  {
    path: 'server.tls.key',
    type: text,
    fallback: '',
    fallbackText: 'plain HTTP',
    meaning: 'PEM file of its private key.',
  },
  {
    path: 'storage.partitions',
    type: integer(1, SHARDS_MAX),
    fallback: shards,
    fallbackText: 'a quarter of the cores, 2 to 16; below four cores 1',
    meaning:
      'Shards of a new data directory; an existing one keeps its number. More of them write and build faster and search slower.',
  },
  {
    path: 'collections.idle_seconds',
    type: integer(0, 31_536_000),
    fallback: 300,
    meaning:
      'A small collection that is not used for so long leaves the memory, and comes back when it is; 0 is never.',
  },
  {
    path: 'checkpoints.enabled',
    type: { kind: 'boolean' },
    fallback: true,
    meaning:
      'Whether what is in memory is kept in files too, so that a restart reads it back; without, large collections are indexed anew.',
  },
  {
    path: 'checkpoints.interval_seconds',
    type: integer(1, 31_536_000),
    fallback: 300,
    meaning: 'How often that is written while something changes; after many changes and at a stop it is as well.',
  },
  {
    path: 'auth.mode',
    type: { kind: 'choice', of: ['none', 'static', 'jwt'] },
    fallback: 'none',
    meaning:
      '`none`: everybody may do everything, on loopback only. `static`: keys. `jwt`: signed tokens, and keys too.',
  },
  {
    path: 'auth.admin_key',
    type: text,
    fallback: '',
    fallbackText: 'made at first start',
    meaning:
      'The admin key of the modes `static` and `jwt`. Without one it is made and kept in `data_dir/admin.key` (mode 0600).',
  },
  {
    path: 'auth.keys',
    type: { kind: 'keys' },
    fallback: [],
    fallbackText: 'none',
    meaning:
      'Tenant keys: a list of `{name, tenant, key}`, or `key_sha256` in place of `key`; where wanted with `expires` (an ISO 8601 time), `scopes` (of `search`, `ingest`, `manage`), `collections`, and `filters` that hold for every search.',
  },
  {
    path: 'auth.jwt.secret',
    type: text,
    fallback: '',
    fallbackText: 'none',
    meaning: 'Secret of HS256 tokens, at least 32 bytes; exactly one of this and the two files.',
  },
  {
    path: 'auth.jwt.public_key_file',
    type: text,
    fallback: '',
    fallbackText: 'none',
    meaning: 'PEM file of the public key of RS256 or EdDSA tokens.',
  },
  {
    path: 'auth.jwt.jwks_file',
    type: text,
    fallback: '',
    fallbackText: 'none',
    meaning: 'JWKS file with the public keys, chosen by `kid`.',
  },
  { path: 'auth.jwt.issuer', type: text, fallback: '', fallbackText: 'any', meaning: 'Wanted `iss` of a token.' },
  { path: 'auth.jwt.audience', type: text, fallback: '', fallbackText: 'any', meaning: 'Wanted `aud` of a token.' },
  {
    path: 'chunking.strategy',
    type: { kind: 'choice', of: ['fixed', 'none'] },
    fallback: 'fixed',
    meaning: 'Chunking of collections that name none.',
  },
  {
    path: 'chunking.size',
    type: integer(CHUNK_SIZE_MIN, CHUNK_SIZE_MAX),
    fallback: CHUNK_SIZE_DEFAULT,
    meaning: 'Characters a chunk, for `fixed`.',
  },
  {
    path: 'chunking.overlap',
    type: integer(0, CHUNK_SIZE_MAX / 4),
    fallback: CHUNK_OVERLAP_DEFAULT,
    meaning: 'Characters shared with the chunk before; at most a quarter of the size.',
  },
  {
    path: 'limits.json_bytes_max',
    type: integer(1024, 2 ** 30),
    fallback: JSON_BYTES_MAX,
    meaning:
      'Largest JSON batch, and largest line of NDJSON. Other JSON than that of ingest has at most 256 KiB, a search 2 MiB more for its vector, an MCP message 1 MiB, or this where it is less.',
  },
  {
    path: 'limits.file_bytes_max',
    type: integer(1024, 2 ** 31),
    fallback: FILE_BYTES_MAX,
    meaning: 'Largest ingest body: file or JSON.',
  },
  {
    path: 'limits.archive_bytes_max',
    type: integer(1024, 2 ** 50),
    fallback: ARCHIVE_BYTES_MAX,
    meaning: 'Largest archive that a tenant may restore. The admin may restore any.',
  },
  {
    path: 'limits.metadata_bytes_max',
    type: integer(64, 2 ** 24),
    fallback: METADATA_BYTES_MAX,
    meaning: 'Largest metadata of a document, as JSON.',
  },
  {
    path: 'limits.batch_items_max',
    type: integer(1, 1_000_000),
    fallback: BATCH_ITEMS_MAX,
    meaning: 'Documents of one JSON batch. NDJSON has no bound.',
  },
  {
    path: 'limits.text_bytes_max',
    type: integer(1024, 2 ** 31),
    fallback: TEXT_BYTES_MAX,
    meaning: 'Text taken out of one file, and what a compressed file may unpack to.',
  },
  {
    path: 'limits.parse_timeout_seconds',
    type: integer(1, 3600),
    fallback: 60,
    meaning: 'A parser that takes longer is ended, and the file is `file_unreadable`.',
  },
  {
    path: 'limits.parse_memory_mb',
    type: integer(64, 65_536),
    fallback: 1024,
    meaning: 'Memory that reading one file may take; one that needs more is `file_unreadable`.',
  },
  {
    path: 'limits.in_flight_max',
    type: integer(1, 1_000_000),
    fallback: 1024,
    meaning: 'Requests worked on at a time; beyond: 503 `overloaded`.',
  },
  {
    path: 'limits.held_bytes_max',
    type: integer(1024, 2 ** 40),
    fallback: HELD_BYTES_MAX,
    meaning: 'Bytes of bodies in memory, of all requests together; beyond: 503 `overloaded`.',
  },
  {
    path: 'limits.body_timeout_seconds',
    type: integer(1, 12),
    fallback: 10,
    meaning:
      'A body of which less than 1 KiB comes in so long loses its connection. (The HTTP library cuts it after 12 itself.)',
  },
  {
    path: 'limits.request_timeout_seconds',
    type: integer(1, 86_400),
    fallback: 300,
    meaning: 'A request that is not answered after this long gets 503 `overloaded`.',
  },
  {
    path: 'limits.drain_timeout_seconds',
    type: integer(1, 3600),
    fallback: 30,
    meaning: 'How long a stop waits for requests under way.',
  },
  {
    path: 'limits.tenant.requests_per_second',
    type: { kind: 'number', min: 0, max: 1e6 },
    fallback: 0,
    fallbackText: '0: no limit',
    meaning: 'Requests a tenant may make a second; beyond: 429 `tenant_rate_limited`.',
  },
  {
    path: 'limits.tenant.burst',
    type: integer(0, 1_000_000),
    fallback: 0,
    fallbackText: '0: twice the rate',
    meaning: 'How many of them may come at once.',
  },
  {
    path: 'limits.tenant.max_in_flight',
    type: integer(0, 1_000_000),
    fallback: 42,
    fallbackText: '42; without keys no limit',
    meaning: 'Requests of a tenant worked on at a time; beyond: 429 `tenant_rate_limited`. 0 is no limit.',
  },
  {
    path: 'limits.tenant.max_collections',
    type: integer(0, 1e9),
    fallback: 0,
    fallbackText: '0: no limit',
    meaning: 'Collections a tenant may have; beyond: 429 `collection_limit_reached`.',
  },
  {
    path: 'limits.tenant.max_chunks_per_collection',
    type: integer(0, 2 ** 32 - 1),
    fallback: 0,
    fallbackText: '0: no limit',
    meaning: 'Chunks a collection may have; beyond: 429 `chunk_limit_reached`.',
  },
  {
    path: 'query_log.enabled',
    type: { kind: 'boolean' },
    fallback: true,
    meaning: 'Whether searches are logged; without, answers have no `query_id`.',
  },
  {
    path: 'query_log.max_entries',
    type: integer(1, 1e9),
    fallback: 10_000,
    meaning: 'Entries kept for each collection; the oldest go first.',
  },
  { path: 'query_log.max_age_days', type: integer(1, 36_500), fallback: 30, meaning: 'Entries older than this go.' },
  {
    path: 'common.enabled',
    type: { kind: 'boolean' },
    fallback: false,
    meaning: 'Whether there is a common collection: for `/v1/search` and `include_common`.',
  },
  { path: 'common.tenant', type: text, fallback: 'global', meaning: 'Tenant of the common collection.' },
  {
    path: 'common.collection',
    type: text,
    fallback: 'common',
    meaning: 'Name of the common collection; made at start.',
  },
  {
    path: 'search.modes',
    type: { kind: 'choices', of: ['vector', 'boost', 'hybrid'] },
    fallback: ['vector', 'boost', 'hybrid'],
    fallbackText: 'all three',
    meaning: 'Search modes served.',
  },
  {
    path: 'search.boost_weight',
    type: { kind: 'number', min: 0, max: 10 },
    fallback: 0.1,
    meaning: 'What a chunk gains in mode boost that has every word of the query.',
  },
  {
    path: 'search.string_operators',
    type: { kind: 'boolean' },
    fallback: false,
    meaning: 'Whether filter strings such as `!x`, `x*`, `>5` are operators, as in PaveDB.',
  },
  {
    path: 'search.degrade',
    type: { kind: 'boolean' },
    fallback: false,
    meaning:
      'Whether searches in mode boost and hybrid answer by words alone, told by `degraded` in the answer, while the embedder does not answer; else 503 `embedder_unavailable`.',
  },
  {
    path: 'search.fusion.method',
    type: { kind: 'choice', of: ['rank', 'score'] },
    fallback: 'rank',
    meaning:
      'How mode hybrid fuses its halves where a search does not say: `rank` by weight/(k+rank), `score` by weight × cosine and weight × BM25 over the best BM25.',
  },
  {
    path: 'search.fusion.k',
    type: integer(0, FUSION_K_MAX),
    fallback: FUSION_K_DEFAULT,
    meaning: 'k of method `rank`.',
  },
  {
    path: 'search.fusion.vector_weight',
    type: fusionWeight,
    fallback: 1,
    fallbackText: '`1`; of method `score` `0.6`',
    meaning: 'What the vectors weigh; a half that weighs 0 is not searched.',
  },
  {
    path: 'search.fusion.lexical_weight',
    type: fusionWeight,
    fallback: 1,
    fallbackText: '`1`; of method `score` `0.4`',
    meaning: 'What the words weigh.',
  },
  {
    path: 'search.language',
    type: { kind: 'choice', of: LANGUAGES },
    fallback: LANGUAGE_DEFAULT,
    meaning:
      'Language of collections that name none: mode hybrid ranks words by its stems, without its stop words; `none` ranks them as they stand. See [Concepts](#concepts).',
  },
  {
    path: 'search.threads',
    type: integer(1, 48),
    fallback: Math.min(48, cores),
    fallbackText: 'the cores',
    meaning: 'Search workers: each searches all shards, whatever these are writing.',
  },
  {
    path: 'search.hit_cache_mb',
    type: integer(0, 4096),
    fallback: 32,
    meaning:
      'Memory of each search worker for what hits have told of their chunks, in megabytes: of those that are found again the records are not read again. 0 is none.',
  },
  {
    path: 'search.recall_sample_seconds',
    type: { kind: 'number', min: 0, max: 86_400 },
    fallback: 60,
    meaning:
      'So often at most a search is made again exactly, when no other is under way, for the metric `sheaf_recall_at_k`; 0 is never.',
  },
  {
    path: 'embedder.default',
    type: text,
    fallback: '',
    fallbackText: 'the model folder, else `builtin`',
    meaning:
      'Selector of the embedder that collections get which name none: an instance key, a type, `type:model` or a vector-space key.',
  },
  {
    path: 'embedder.model',
    type: text,
    fallback: '',
    fallbackText: 'none',
    meaning: 'A model folder in the layout of sentence-transformers; it becomes the instance `model`, and the default.',
  },
  {
    path: 'embedder.instances',
    type: { kind: 'mappings' },
    fallback: [],
    fallbackText: 'none',
    meaning: 'Embedder instances beside the built-in one, a list of mappings: see [Embedders](#embedders).',
  },
  {
    path: 'embedder.query_cache_mb',
    type: integer(0, 1_048_576),
    fallback: 64,
    meaning: 'Memory for the vectors of query texts that have been asked for before; 0 is none.',
  },
  {
    path: 'rerank.instances',
    type: { kind: 'mappings' },
    fallback: [],
    fallbackText: 'none',
    meaning: 'Rerankers for `rerank` of a search: see [Rerank](#rerank).',
  },
  {
    path: 'threads.embed',
    type: integer(1, 256),
    fallback: Math.min(4, cores),
    fallbackText: 'the cores, at most 4; without an ONNX model a quarter of them',
    meaning: 'Embed workers for documents, at a lower priority of the operating system. Each holds every local model.',
  },
  {
    path: 'threads.embed_queries',
    type: integer(1, 256),
    fallback: Math.min(2, cores),
    fallbackText: '2; without an ONNX model a quarter of the cores',
    meaning: 'Embed workers for the texts of searches. Each holds every local model.',
  },
  {
    path: 'threads.batch',
    type: integer(1, 256),
    fallback: Math.max(1, Math.floor(cores / 4)),
    fallbackText: 'a quarter of the cores, at least 1',
    meaning: 'Batch workers: so many for JSON and plain text, and as many for files that want a parser.',
  },
  {
    path: 'log.level',
    type: { kind: 'choice', of: ['debug', 'info', 'warn', 'error', 'silent'] },
    fallback: 'info',
    meaning: 'What is logged, as JSON lines on standard error. `debug` has a line a request.',
  },
  {
    path: 'log.request_share',
    type: { kind: 'number', min: 0, max: 1 },
    fallback: 0,
    meaning:
      'Share of the requests that have a line of level `info`: 0 for none, 1 for all. See [Observability](#observability).',
  },
  {
    path: 'log.slow_ms',
    type: { kind: 'number', min: 0, max: 86_400_000 },
    fallback: 1000,
    meaning:
      'A request that takes longer always has a line, of level `warn`, with its phases; long ones by nature (archives, event streams) have none. 0 is never.',
  },
  {
    path: 'metrics.tenant_labels',
    type: integer(0, 1000),
    fallback: 0,
    meaning:
      'How many tenants have a label of their own in `sheaf_tenant_requests_total`; others count together. 0: no metric names a tenant.',
  },
  {
    path: 'tracing.enabled',
    type: { kind: 'boolean' },
    fallback: false,
    meaning: 'Whether requests are traced by OpenTelemetry. Without, its SDK is not even loaded.',
  },
  {
    path: 'tracing.endpoint',
    type: text,
    fallback: 'http://127.0.0.1:4318/v1/traces',
    meaning: 'Where spans go, by OTLP over HTTP as JSON.',
  },
  { path: 'tracing.service_name', type: text, fallback: 'sheaf', meaning: '`service.name` of the spans.' },
  {
    path: 'tracing.sample_share',
    type: { kind: 'number', min: 0, max: 1 },
    fallback: 0.1,
    meaning: 'Share of the requests that are traced, of those whose `traceparent` does not decide it.',
  },
  {
    path: 'tracing.queue_max',
    type: integer(16, 1_000_000),
    fallback: 4096,
    meaning: 'Spans that wait to be sent; beyond that they are dropped.',
  },
  {
    path: 'tracing.timeout_seconds',
    type: integer(1, 300),
    fallback: 10,
    meaning: 'How long a batch of spans may take to be sent.',
  },
];

/** The environment variable of a key: `server.port` is SHEAF_SERVER__PORT. */
export const envNameOf = (path: string): string => `SHEAF_${path.toUpperCase().replaceAll('.', '__')}`;
