// The messages between the front thread and the log worker: plain data. A logged search travels as the bytes of its
// record, which the front thread makes and only a reader opens (query-log-records.ts). The worker reads no clock: what
// is too old comes with each message.
import type { CollectionId } from '../api/ids.js';
import type { ContentFilter, FusionSettings, LoggedParams, RerankSettings, SearchTiming } from '../api/search.js';
import type { SearchMode } from '../api/choices.js';

/** One search, as it is stored. Its collection and its id are the key. */
export interface LoggedQuery {
  /** '' for a search by vector. */
  text: string;
  k: number;
  executedAtMs: number;
  latencyMs: number;
  /** The query that this one is a replay of; '' for none. */
  replayOf: string;
  requestId: string;
  actor: string;
  mode: SearchMode;
  /** Chunk ids in rank order. */
  resultIds: string[];
  rest: LoggedRest;
  /** Of a search by vector. */
  vector?: Float32Array | undefined;
}

/**
 * What most searches have little of, under the names of the body of a search (api/search.ts): a replay gives them back
 * as a body.
 */
export interface LoggedRest extends LoggedParams {
  filters?: Readonly<Record<string, unknown>>;
  /** Of the caller's key: a replay has them too, whoever asks for it. Not shown. */
  embedded_filters?: Readonly<Record<string, unknown>>;
  content_filter?: ContentFilter;
  include_common?: boolean;
  common_tenant?: string;
  common_collection?: string;
  rerank?: RerankSettings;
  fusion?: FusionSettings;
  /** Ranked by words alone. */
  degraded?: true;
  timing: SearchTiming;
}

export interface FoundQuery extends LoggedQuery {
  id: string;
  collection: CollectionId;
}

/** Many entries in four buffers: entry i has collections[i], ids[16 i …] and lengths[i] bytes of `records`. */
export interface PackedEntries {
  collections: Uint32Array;
  ids: Uint8Array;
  lengths: Uint32Array;
  records: Uint8Array;
}

/** Every command the log worker takes, with what it answers. It runs them in the order they come in. */
export interface LogCommands {
  append: { request: { entries: PackedEntries }; answer: null };
  /** Entries of an archive wait, unseen, until the collection that is staged has its name. */
  hold: { request: { staged: CollectionId; entries: Omit<PackedEntries, 'collections'> }; answer: null };
  /**
   * Some of what waits goes to the log `to`, whose own entries stay as they are, or away where that is null; how many,
   * 0 when none is left. An id that a live collection has is left to it: the entry gets another, of the same time.
   */
  release: { request: { staged: CollectionId; to: CollectionId | null; live: Uint32Array }; answer: number };
  /** For which staged collections entries wait. */
  held: { request: Record<never, never>; answer: CollectionId[] };
  /**
   * Newest first, below the entry `before` where given, leaving out `offset` of them; entries of before `oldestMs` are
   * not seen.
   */
  list: {
    request: { collection: CollectionId; before?: string; offset: number; limit: number; oldestMs: number };
    answer: FoundQuery[];
  };
  /** In one collection, or in any. */
  get: { request: { id: string; collection?: CollectionId; oldestMs: number }; answer: FoundQuery | null };
  /** The logs of these collections go, in the background. */
  drop: { request: { collections: CollectionId[] }; answer: null };
  /** The logs of all other collections go, in the background. */
  retain: { request: { collections: Uint32Array }; answer: null };
  /** What is too much or too old goes, in the background. */
  sweep: { request: { oldestMs: number }; answer: null };
  /** The last one: closes the store. */
  close: { request: Record<never, never>; answer: null };
}

export type LogOp = keyof LogCommands;
export type LogRequest<O extends LogOp> = { op: O } & LogCommands[O]['request'];
export type LogCommand = { [O in LogOp]: LogRequest<O> }[LogOp];
export type LogAnswer<O extends LogOp> = LogCommands[O]['answer'];

/** How much a collection's log may hold; the oldest entries go first. */
export interface LogBounds {
  entriesMax: number;
  bytesMax: number;
}

/** Given to the log worker when it starts. */
export interface LogWorkerStart {
  directory: string;
  bounds: LogBounds;
  /** One word: how often the store was opened in this process. */
  starts: SharedArrayBuffer;
  /** As in SharedShards. */
  meters: SharedArrayBuffer;
  latches: SharedArrayBuffer;
}
