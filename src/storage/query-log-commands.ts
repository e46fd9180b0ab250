// The commands between the main thread and the log workers, as plain data. A logged search travels as an encoded
// record, which only readers decode (query-log-records.ts). The workers read no clock: each message says which entries
// are too old.
import type { CollectionId } from '../api/ids.js';
import type {
  ContentFilter,
  Fusion,
  FusionSettings,
  LoggedParams,
  RerankSettings,
  SearchTiming,
} from '../api/search.js';
import type { SearchMode } from '../api/choices.js';

/** A logged search as it is stored. Its collection and id are in the key. */
export interface LoggedQuery {
  /** Empty for a search by vector. */
  text: string;
  k: number;
  executedAtMs: number;
  latencyMs: number;
  /** Id of the query of which this one is a replay; empty if it is none. */
  replayOf: string;
  requestId: string;
  actor: string;
  mode: SearchMode;
  /** Chunk ids in rank order. */
  resultIds: string[];
  rest: LoggedRest;
  /** Present for a search by vector. */
  vector?: Float32Array | undefined;
}

/**
 * The less frequent parameters, under the names they have in a search body (api/search.ts), so that a replay can send
 * them again.
 */
export interface LoggedRest extends LoggedParams {
  filters?: Readonly<Record<string, unknown>>;
  /** Filters of the caller's access key. A replay applies them whoever asks for it. They are not shown. */
  embedded_filters?: Readonly<Record<string, unknown>>;
  content_filter?: ContentFilter;
  include_common?: boolean;
  common_tenant?: string;
  common_collection?: string;
  rerank?: RerankSettings;
  /** Of mode hybrid, with all its settings, or of several queries. */
  fusion?: FusionSettings | { method: 'rank' | 'score'; k?: number; depth: number };
  /** How many searches of the collection the entry stands for, if not for itself alone. */
  sampled?: number;
  like?: LoggedLike;
  queries?: LoggedFusedQuery[];
  sort?: { field: string; order: 'asc' | 'desc' };
  /** The last hit of the page before, for a page of a sorted search that followed a cursor. It is not shown. */
  after?: { kind: 0 | 1 | 2 | 3 | 4; value: number | string; docid: string; index: number };
  /** Whether the search ranked by terms alone because it had no vector. */
  degraded?: true;
  timing: SearchTiming;
}

/** One of several queries of a logged search. */
export interface LoggedFusedQuery {
  q?: string;
  v_base64?: string;
  like?: LoggedLike;
  mode?: string;
  fusion?: Fusion;
  weight: number;
}

interface LoggedLike {
  docids: string[];
  chunks: string[];
  not: { docids: string[]; chunks: string[] };
}

export interface FoundQuery extends LoggedQuery {
  id: string;
  collection: CollectionId;
}

/** The call by which a front thread sends `PackedEntries` to a log worker; answered when they are stored. */
export const LOG_APPEND = 'append';

/**
 * Many entries in four buffers: entry i has collections[i], 16 bytes of `ids` from 16 i on, and lengths[i] bytes of
 * `records`.
 */
export interface PackedEntries {
  collections: Uint32Array;
  ids: Uint8Array;
  lengths: Uint32Array;
  records: Uint8Array;
}

/**
 * Every command of a log worker, with its answer. The worker runs them in the order of arrival. A front thread connects
 * to a worker once and sends it its entries over its own port (`LOG_APPEND`).
 */
export interface LogCommands {
  append: { request: { entries: PackedEntries }; answer: null };
  /** Stores entries of an archive, invisible, until the shadow collection has its name. */
  hold: { request: { shadow: CollectionId; entries: Omit<PackedEntries, 'collections'> }; answer: null };
  /**
   * Moves some of the waiting entries to the log `to`, or deletes them if that is null. The log's own entries stay as
   * they are. Answers the number of entries, 0 when none is left. If a live collection has the same id, the entry gets
   * another id with the same time. `owners` has for each of these entries the collection that has its id in another
   * store, or 0; where there is no other store it is empty.
   */
  release: {
    request: { shadow: CollectionId; to: CollectionId | null; live: Uint32Array; owners: Uint32Array };
    answer: number;
  };
  /** The ids of the entries that the next `release` moves. */
  releasable: { request: { shadow: CollectionId }; answer: Uint8Array };
  /**
   * For each id, the collection whose log in this store has it, 0 if none does. Entries of collections that are neither
   * `to` nor in `live` are removed.
   */
  owners: { request: { ids: Uint8Array; to: CollectionId; live: Uint32Array }; answer: Uint32Array };
  /** The shadow collections for which entries wait. */
  held: { request: Record<never, never>; answer: CollectionId[] };
  /** Entries, newest first, older than the entry `before` if given. Entries older than `oldestMs` are not shown. */
  list: { request: LogRange & { limit: number }; answer: FoundQuery[] };
  /** Entries, oldest first, newer than the entry `after` if given. Entries older than `oldestMs` are not shown. */
  earliest: {
    request: { collection: CollectionId; after?: string; oldestMs: number; limit: number };
    answer: FoundQuery[];
  };
  /** The ids of up to `count` entries as `list` has them, with those that are malformed. */
  ids: { request: LogRange & { count: number }; answer: string[] };
  /** The size of a collection's log in this store, and its oldest entries: ids, and lengths of their records. */
  oldest: {
    request: { collection: CollectionId; count: number };
    answer: LogSize & { ids: string[]; lengths: number[] };
  };
  /** Removes the entries of a collection up to and including `id`. */
  removeUpTo: { request: { collection: CollectionId; id: string }; answer: null };
  /** The sizes of all logs in this store. */
  sizes: { request: Record<never, never>; answer: (LogSize & { collection: CollectionId })[] };
  /** One entry by id, from the given collection or from any. */
  get: { request: { id: string; collection?: CollectionId; oldestMs: number }; answer: FoundQuery | null };
  /** Deletes the logs of these collections in the background. */
  drop: { request: { collections: CollectionId[] }; answer: null };
  /** Deletes the logs of all other collections in the background. */
  retain: { request: { collections: Uint32Array }; answer: null };
  /** Deletes entries beyond the bounds or too old, in the background. */
  sweep: { request: { oldestMs: number }; answer: null };
  /** Must be the last command; closes the store. */
  close: { request: Record<never, never>; answer: null };
}

/** Entries of a collection, older than `before` if given, and not older than `oldestMs`. */
export interface LogRange {
  collection: CollectionId;
  before?: string;
  oldestMs: number;
}

export interface LogSize {
  entries: number;
  /** Total bytes of the records. */
  bytes: number;
}

export type LogOp = keyof LogCommands;
export type LogRequest<O extends LogOp> = { op: O } & LogCommands[O]['request'];
export type LogCommand = { [O in LogOp]: LogRequest<O> }[LogOp];
export type LogAnswer<O extends LogOp> = LogCommands[O]['answer'];

/** Limits of a collection's log; the oldest entries are removed first. */
export interface LogBounds {
  entriesMax: number;
  bytesMax: number;
}

export const isBeyond = ({ entries, bytes }: LogSize, { entriesMax, bytesMax }: LogBounds): boolean =>
  entries > entriesMax || bytes > bytesMax;

/** Start message of a log worker. */
export interface LogWorkerStart {
  /** Number of its store. */
  store: number;
  /** Of its store. */
  directory: string;
  bounds: LogBounds;
  /** One u32 that counts how often the store was opened in this process. */
  starts: SharedArrayBuffer;
  /** As in SharedShards. */
  meters: SharedArrayBuffer;
  readGates: SharedArrayBuffer;
}
