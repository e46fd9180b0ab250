// Every configuration key: type, bounds, default, meaning. This one list gives the checks at start (config.ts) and the
// table in README.md (test/config.test.ts compares them). Read once, by main.
import { availableParallelism } from 'node:os';
import { CHUNK_OVERLAP_DEFAULT, CHUNK_SIZE_DEFAULT, CHUNK_SIZE_MAX, CHUNK_SIZE_MIN, FILE_BYTES_MAX, HELD_BYTES_MAX, JSON_BYTES_MAX, METADATA_BYTES_MAX, SHARDS_MAX } from './contract/limits.js';

export type KeyType =
  | { kind: 'string' }
  | { kind: 'integer'; min: number; max: number }
  | { kind: 'choice'; of: readonly string[] }
  | { kind: 'keys' };

export interface ConfigKey {
  path: string;
  type: KeyType;
  fallback: unknown;
  /** How the fallback is told in the table, where it depends on the machine. */
  fallbackText?: string;
  meaning: string;
}

const integer = (min: number, max: number): KeyType => ({ kind: 'integer', min, max });
const cores = availableParallelism();

export const CONFIG_KEYS: readonly ConfigKey[] = [
  { path: 'data_dir', type: { kind: 'string' }, fallback: './data', meaning: 'Where everything is stored. One server at a time.' },
  { path: 'server.host', type: { kind: 'string' }, fallback: '127.0.0.1', meaning: 'Address to listen on. Another than loopback wants `auth.mode: static`.' },
  { path: 'server.port', type: integer(0, 65_535), fallback: 8080, meaning: 'Port to listen on; 0 takes a free one.' },
  { path: 'storage.partitions', type: integer(1, SHARDS_MAX), fallback: Math.min(cores, SHARDS_MAX), fallbackText: 'cores, at most 16', meaning: 'Shards of a new data directory; an existing one keeps its number.' },
  { path: 'auth.mode', type: { kind: 'choice', of: ['none', 'static'] }, fallback: 'none', meaning: '`none`: everybody may do everything, on loopback only. `static`: keys.' },
  { path: 'auth.admin_key', type: { kind: 'string' }, fallback: '', fallbackText: 'made at first start', meaning: 'The admin key in mode `static`. Without one it is made and kept in `data_dir/admin.key` (mode 0600).' },
  { path: 'auth.keys', type: { kind: 'keys' }, fallback: [], fallbackText: 'none', meaning: 'Tenant keys: a list of `{name, tenant, key, expires}`, or `key_sha256` in place of `key`; `expires` is an ISO 8601 time.' },
  { path: 'chunking.strategy', type: { kind: 'choice', of: ['fixed', 'none'] }, fallback: 'fixed', meaning: 'Chunking of collections that name none.' },
  { path: 'chunking.size', type: integer(CHUNK_SIZE_MIN, CHUNK_SIZE_MAX), fallback: CHUNK_SIZE_DEFAULT, meaning: 'Characters a chunk, for `fixed`.' },
  { path: 'chunking.overlap', type: integer(0, CHUNK_SIZE_MAX / 4), fallback: CHUNK_OVERLAP_DEFAULT, meaning: 'Characters shared with the chunk before; at most a quarter of the size.' },
  { path: 'limits.json_bytes_max', type: integer(1024, 2 ** 30), fallback: JSON_BYTES_MAX, meaning: 'Largest JSON body, ingest aside.' },
  { path: 'limits.file_bytes_max', type: integer(1024, 2 ** 31), fallback: FILE_BYTES_MAX, meaning: 'Largest ingest body: file or JSON.' },
  { path: 'limits.metadata_bytes_max', type: integer(64, 2 ** 24), fallback: METADATA_BYTES_MAX, meaning: 'Largest metadata of a document, as JSON.' },
  { path: 'limits.in_flight_max', type: integer(1, 1_000_000), fallback: 1024, meaning: 'Requests worked on at a time; beyond: 503 `overloaded`.' },
  { path: 'limits.held_bytes_max', type: integer(1024, 2 ** 40), fallback: HELD_BYTES_MAX, meaning: 'Bytes of bodies in memory, of all requests together; beyond: 503 `overloaded`.' },
  { path: 'limits.body_timeout_seconds', type: integer(1, 12), fallback: 10, meaning: 'A body that makes no progress for this long loses its connection. (The HTTP library cuts it after 12 itself.)' },
  { path: 'limits.request_timeout_seconds', type: integer(1, 86_400), fallback: 300, meaning: 'A request that is not answered after this long gets 503 `overloaded`.' },
  { path: 'limits.drain_timeout_seconds', type: integer(1, 3600), fallback: 30, meaning: 'How long a stop waits for requests under way.' },
  { path: 'threads.embed', type: integer(1, 256), fallback: Math.max(1, Math.floor(cores / 4)), fallbackText: 'a quarter of the cores, at least 1', meaning: 'Embed workers.' },
  { path: 'threads.batch', type: integer(1, 256), fallback: Math.max(1, Math.floor(cores / 4)), fallbackText: 'a quarter of the cores, at least 1', meaning: 'Batch workers: parsing and chunking.' },
  { path: 'log.level', type: { kind: 'choice', of: ['debug', 'info', 'warn', 'error', 'silent'] }, fallback: 'info', meaning: 'What is logged, as JSON lines on standard error. `debug` has a line a request.' },
];

/** The environment variable of a key: `server.port` is SHEAF_SERVER__PORT. */
export const envNameOf = (path: string): string => `SHEAF_${path.toUpperCase().replaceAll('.', '__')}`;
