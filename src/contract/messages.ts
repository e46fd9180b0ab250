// The messages between the front thread and the workers: plain data, nothing that a structured clone cannot carry.
// A shard is changed by commands alone, and applying one reads no clock and no random number: the same commands in the
// same order give the same shard on any machine.
import type { WireError } from './errors.js';
import type { CollectionId, DocId, Ordinal } from './ids.js';
import type { ChunkDetail, ChunkSummary, Collection, CollectionChange, CollectionKey, DocumentDetail, DocumentSummary, Space } from './resources.js';

/** What a shard must know of a collection to work on its part of it. */
export interface CollectionRef {
  id: CollectionId;
  generation: number;
  dim: number;
}

export interface ShardHits {
  ordinals: Uint32Array;
  /** What a hydrate must still find: a changed stamp says that the chunk is gone or replaced. */
  stamps: Uint32Array;
  /** Final scores, best first; ties in document and chunk order. */
  scores: Float64Array;
  /** Cosines beneath the scores; they differ where a priority applies. */
  cosines: Float32Array;
}

/** One hit to turn into JSON, as the front thread has ranked it. */
export interface RankedHit {
  ordinal: Ordinal;
  stamp: number;
  score: number;
  cosine: number;
}

export interface ShardCounts {
  documents: number;
  chunks: number;
}

/** Every command a shard worker takes, with what it answers. */
export interface ShardCommands {
  /** First command of each worker: opens the store, drops what no longer belongs to a collection, fills shared memory. */
  open: { request: { collections: CollectionRef[] }; answer: null };
  search: { request: { collection: CollectionRef; vector: Float32Array; k: number }; answer: ShardHits };
  /** Document ids and chunk positions of hits whose scores are equal across shards. */
  locate: { request: { collection: CollectionId; ordinals: Uint32Array }; answer: { docid: string; index: number }[] };
  /** JSON texts in the order of `hits`; null where a chunk has changed since the search. */
  hydrate: { request: { collection: CollectionId; head: string; priorityKey: string; hits: RankedHit[] }; answer: (string | null)[] };
  put: { request: { collection: CollectionRef; document: Uint8Array; vectors: Float32Array }; answer: { chunks: number; version: number } };
  deleteDocument: { request: { collection: CollectionRef; docid: DocId }; answer: { chunks: number } };
  dropCollection: { request: { collection: CollectionId }; answer: null };
  counts: { request: { collections: CollectionId[] }; answer: ShardCounts[] };
  listDocuments: { request: { collection: CollectionId }; answer: DocumentSummary[] };
  getDocument: { request: { collection: CollectionId; docid: string }; answer: DocumentDetail | null };
  listChunks: { request: { collection: CollectionId; docid: string }; answer: ChunkSummary[] };
  getChunk: { request: { collection: CollectionId; rid: string }; answer: ChunkDetail | null };
  getContent: { request: { collection: CollectionId; rid: string }; answer: { text: string | null } | null };
  /** The catalog's commands: shard 0 owns it. */
  loadCatalog: { request: Record<never, never>; answer: Collection[] };
  createCollection: { request: { collection: Omit<Collection, 'id'> }; answer: Collection };
  /** Refused with `collection_not_found` when no collection has this name and id any more; `collection_conflict` for a new name that is taken. */
  updateCollection: { request: { collection: CollectionKey; change: CollectionChange }; answer: Collection };
  deleteCollection: { request: { collection: CollectionKey }; answer: null };
}

export type ShardOp = keyof ShardCommands;
export type ShardRequest<O extends ShardOp> = { op: O } & ShardCommands[O]['request'];
export type ShardCommand = { [O in ShardOp]: ShardRequest<O> }[ShardOp];
export type ShardAnswer<O extends ShardOp> = ShardCommands[O]['answer'];

/** Commands that change the store: they share one commit, and a shard has one batch of them under way at a time. */
export const WRITE_OPS: ReadonlySet<ShardOp> = new Set<ShardOp>(['put', 'deleteDocument', 'dropCollection', 'createCollection', 'updateCollection', 'deleteCollection']);

/** What became of a command: its answer, a refusal for the client, or a fault of ours for the log. */
export type Outcome<T> = { value: T } | { error: WireError } | { fault: string };

/** Given to each shard worker when it starts. */
export interface ShardWorkerStart {
  /** One slot a shard: the thread that owns it, 0 for vacant. */
  owners: SharedArrayBuffer;
  kernel: WebAssembly.Module;
  memories: WebAssembly.Memory[];
  directory: string;
}

/** An uploaded file: its bytes, or the path of the temporary file that holds them. */
export type UploadedFile = { kind: 'file'; name: string; type: string; docid: string; metadata: string } & ({ bytes: Uint8Array } | { path: string });

export interface PrepareRequest {
  body: { kind: 'json'; bytes: Uint8Array } | UploadedFile;
  space: Space;
  chunking: Collection['chunking'];
  priorityKey: string;
  nowMs: number;
  metadataBytesMax: number;
}

export interface PrepareAnswer {
  docid: DocId;
  chunks: number;
  document: Uint8Array;
  /** The vectors, where the caller gave them; else they are to be embedded. */
  vectors?: Float32Array;
}

export interface EmbedQueries {
  kind: 'queries';
  texts: string[];
}

export interface EmbedDocument {
  kind: 'document';
  document: Uint8Array;
}

export interface EmbedAnswer {
  vectors: Float32Array;
  /** The document handed back: its bytes were moved, not copied. */
  document?: Uint8Array;
}
