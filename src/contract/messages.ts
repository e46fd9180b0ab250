// The messages between the front thread and the workers: plain data, nothing that a structured clone cannot carry.
// A shard is changed by commands alone, and applying one reads no clock and no random number: the same commands in the
// same order give the same shard on any machine.
import type { WireError } from './errors.js';
import type { CollectionId, DocId, Tenant } from './ids.js';
import type { Language } from './language.js';
import type { Precision } from './precision.js';
import type { PackedDocuments } from './prepared-document.js';
import type { ChunkDetail, Collection, CollectionChange, CollectionKey, DocumentDetail, MemoryUse, StoredCollection } from './resources.js';
import type { KeyRecord, StoredTenants, TenantChange, TenantRecord } from './tenants.js';

/** What a shard must know of a collection to work on its part of it. */
export interface CollectionRef {
  id: CollectionId;
  generation: number;
  dim: number;
  language: Language;
  precision: Precision;
}

/** Collections of one kind: all of a reference but its id. */
export interface CollectionGroup {
  kind: Omit<CollectionRef, 'id'>;
  ids: Uint32Array;
}

export interface ShardCounts {
  documents: number;
  chunks: number;
}

/** A page of a listing: records as ready JSON texts. */
export interface ListPage {
  records: string[];
  /** Whether there are records behind this page. */
  more: boolean;
}

/** Records as the store has them, one after the other. */
export interface PackedRecords {
  bytes: Uint8Array;
  /** Of each record in `bytes`. */
  ends: Uint32Array;
}

export interface DocumentPage extends ListPage {
  /** Of each record. */
  docids: string[];
}

/** Those of the asked chunks that have a text: its digest (text/text-digest) and its vector, a row each. */
export interface TextVectors {
  digests: Uint8Array;
  vectors: Float32Array;
  /** How many of the ordinals it covers, at least one: fewer than asked for where it would grow too large. */
  taken: number;
}

/** Every command a shard worker takes, with what it answers. */
export interface ShardCommands {
  /** First command of each worker: opens the store, drops what no longer belongs to a collection, and finds out what there is. Nothing is loaded for it. */
  open: { request: { collections: CollectionGroup[] }; answer: null };
  /** Brings the part into memory, and makes the indexes that a search wants of it; false while that takes: ask again. Refused with `storage_full` where memory has no room for its vectors or words. */
  prepare: { request: { collection: CollectionRef; words: boolean; fields: boolean }; answer: boolean };
  /** `room`: by how many chunks the collection may grow; a document that wants more is refused with `chunk_limit_reached`. */
  put: { request: { collection: CollectionRef; document: Uint8Array; vectors: Float32Array; room?: number }; answer: { chunks: number; version: number } };
  /** Several puts in order, in one commit; each has an outcome of its own. */
  putMany: { request: { collection: CollectionRef } & PackedDocuments; answer: Outcome<{ chunks: number; version: number }>[] };
  deleteDocument: { request: { collection: CollectionRef; docid: DocId }; answer: { chunks: number } };
  dropCollection: { request: { collection: CollectionId }; answer: null };
  counts: { request: { collections: CollectionId[] }; answer: ShardCounts[] };
  /** What the shard's memory holds of a collection. */
  memory: { request: { collection: CollectionId }; answer: MemoryUse };
  /** How broad the walks of searches are that name no ef; 0 where nothing of the collection is in memory, or it is all scanned. */
  breadth: { request: { collection: CollectionId; k: number }; answer: number };
  /** Over all collections. */
  totals: { request: Record<never, never>; answer: ShardCounts };
  /** Documents behind `after` in the order of their keys (store/keys). Fewer than `max` where the page would grow too large. */
  listDocuments: { request: { collection: CollectionId; after: string | undefined; max: number }; answer: DocumentPage };
  getDocument: { request: { collection: CollectionId; docid: string }; answer: DocumentDetail | null };
  /** Chunks of a document from a position on. Fewer than `max` where the page would grow too large. */
  listChunks: { request: { collection: CollectionId; docid: string; from: number; max: number }; answer: ListPage };
  getChunk: { request: { collection: CollectionId; rid: string }; answer: ChunkDetail | null };
  /** Where the chunks of documents stand. */
  listOrdinals: { request: { collection: CollectionId; docids: DocId[] }; answer: Uint32Array };
  /** What the texts of chunks were embedded to. */
  textVectors: { request: { collection: CollectionRef; ordinals: Uint32Array }; answer: TextVectors };
  /** Vectors of the rows at or behind some places, from 0 to 1 of the part's ordinals, with their chunk ids; a place has one or none. */
  sampleVectors: { request: { collection: CollectionRef; places: Float64Array }; answer: { ids: string[]; vectors: Float32Array } | null };
  getContent: { request: { collection: CollectionId; rid: string }; answer: { text: string | null } | null };
  /** The catalog's commands: shard 0 owns it. */
  loadCatalog: { request: Record<never, never>; answer: PackedRecords };
  /** `collectionsMax`: how many the tenant may have; one more is refused with `collection_limit_reached`. */
  createCollection: { request: { collection: Omit<Collection, 'id'>; collectionsMax?: number }; answer: StoredCollection };
  /** Refused with `collection_not_found` when no collection has this name and id any more; `collection_conflict` for a new name that is taken. */
  updateCollection: { request: { collection: CollectionKey; change: CollectionChange }; answer: StoredCollection };
  deleteCollection: { request: { collection: CollectionKey }; answer: null };
  loadTenants: { request: Record<never, never>; answer: StoredTenants };
  /** A new tenant with its first key. Refused with `tenant_exists`. */
  createTenant: { request: { tenant: TenantRecord; key: KeyRecord }; answer: null };
  /** `tenant` is the record to change where the tenant has collections only and no record yet. Refused with `tenant_not_found`. */
  updateTenant: { request: { tenant: TenantRecord; change: TenantChange }; answer: TenantRecord };
  /** Answers the collections that went with it. Refused with `tenant_not_found`, `tenant_not_empty` where not `force`. */
  deleteTenant: { request: { tenant: Tenant; force: boolean }; answer: StoredCollection[] };
  /** A new key; `tenant` is the record to write where the tenant has none yet. Answers the revoked key that went for it. Refused with `tenant_not_found`, `key_limit_reached`. */
  createKey: { request: { tenant: TenantRecord; key: KeyRecord }; answer: KeyRecord | null };
  /** Answers the key as it is then; one that was revoked keeps its time. Refused with `key_not_found`. */
  revokeKey: { request: { tenant: Tenant; keyId: string; revokedAt: string }; answer: KeyRecord };
}

export type ShardOp = keyof ShardCommands;
export type ShardRequest<O extends ShardOp> = { op: O } & ShardCommands[O]['request'];
export type ShardCommand = { [O in ShardOp]: ShardRequest<O> }[ShardOp];
export type ShardAnswer<O extends ShardOp> = ShardCommands[O]['answer'];

/** Commands that change the store: they share one commit, and a shard has one batch of them under way at a time. */
export const WRITE_OPS: ReadonlySet<ShardOp> = new Set<ShardOp>(['put', 'putMany', 'deleteDocument', 'dropCollection', 'createCollection', 'updateCollection', 'deleteCollection', 'createTenant', 'updateTenant', 'deleteTenant', 'createKey', 'revokeKey']);

/** What became of a command: its answer, a refusal for the client, or a fault of ours for the log. */
export type Outcome<T> = { value: T } | { error: WireError } | { fault: string };

/** What each worker tells of itself when it has loaded: its thread id. */
export interface LoadedNote {
  loaded: number;
}

/** What a worker wants logged, though it goes on. */
export interface LogNote {
  level: 'warn' | 'error';
  fields: Record<string, unknown>;
  message: string;
}

/** The memories and stores of all shards, for the threads that work on them. */
export interface SharedShards {
  kernel: WebAssembly.Module;
  /** Of each shard its arenas, the home first. */
  memories: WebAssembly.Memory[][];
  /** Where each of these ends. */
  arenaPagesMax: number;
  directory: string;
  /** A small part that is not used for so long leaves the memory; 0 for never. */
  idleSeconds: number;
}

/** Given to each shard worker when it starts. */
export interface ShardWorkerStart extends SharedShards {
  /** One slot a shard: the thread that owns it, 0 for vacant. */
  owners: SharedArrayBuffer;
}
