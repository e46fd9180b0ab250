// The messages between the front thread and the workers: plain data, nothing that a structured clone cannot carry.
// A shard is changed by commands alone, and applying one reads no clock and no random number: the same commands in the
// same order give the same shard on any machine.
import type { CollectionGroup, CollectionRef, LinkingState, MemoryUse, Walks } from '../../api/collections.js';
import type { Outcome } from '../../api/errors.js';
import type { CollectionId, DocId } from '../../api/ids.js';
import type { CatalogCommands } from '../../storage/catalog-commands.js';
import type { PackedDocuments } from '../../text/prepared-document.js';

/** Where a document goes beside its collection, in the same transaction. */
export interface TwinWrite {
  collection: CollectionRef;
  /**
   * Its rows there; `same`: those that it has; null: it has none yet, so what the twin has of it goes, to be copied
   * later.
   */
  vectors: Float32Array | 'same' | null;
}

export interface ShardCounts {
  documents: number;
  chunks: number;
}

/** A page of a listing: records as ready JSON texts. */
interface ListPage {
  records: string[];
  /** Whether there are records behind this page. */
  more: boolean;
}

interface DocumentPage extends ListPage {
  /** Of each record. */
  docids: string[];
}

/** Documents to be embedded anew: packed as they were prepared. */
interface MissingPage extends Omit<PackedDocuments, 'vectors'> {
  versions: number[];
  /** Chunks of all documents that were looked at. */
  walked: number;
  /** The last document that was looked at; null at the end. */
  after: string | null;
  /** Whether any chunk has no text: its vector came from the caller. */
  hasTextless: boolean;
}

/** Those of the asked chunks that have a text: its digest (text/text-digest) and its vector, a row each. */
export interface TextVectors {
  digests: Uint8Array;
  vectors: Float32Array;
  /** How many of the ordinals it covers, at least one: fewer than asked for where it would grow too large. */
  taken: number;
}

/** Every command a shard worker takes, with what it answers; those of the catalog go to the owner of shard 0. */
export interface ShardCommands extends CatalogCommands {
  /**
   * First command of each worker: opens the store, drops what no longer belongs to a collection (unless it is not known
   * for sure which there are), and finds out what there is. Nothing is loaded for it.
   */
  open: { request: { collections: CollectionGroup[]; isWhole: boolean }; answer: null };
  /**
   * Brings the part into memory, and makes the indexes that a search wants of it; false while that takes: ask again.
   * Refused with `storage_full` where memory has no room for its vectors or words.
   */
  prepare: { request: { collection: CollectionRef; words: boolean; fields: boolean }; answer: boolean };
  /**
   * `room`: by how many chunks the collection may grow; a document that wants more is refused with
   * `chunk_limit_reached`.
   */
  put: {
    request: {
      collection: CollectionRef;
      document: Uint8Array;
      vectors: Float32Array;
      room?: number;
      twins?: TwinWrite[];
    };
    answer: { chunks: number; version: number };
  };
  /** Several puts in order, in one commit; each has an outcome of its own. */
  putMany: {
    request: { collection: CollectionRef; twins?: TwinWrite[] } & PackedDocuments;
    answer: Outcome<{ chunks: number; version: number }>[];
  };
  /**
   * Documents for a staged collection, with the versions they have. One that it has already in this version is left
   * alone; with `source`, so is one that the source has not, or not in this version. Without documents it waits for the
   * writes before it.
   */
  putStaged: {
    request: { collection: CollectionRef; source?: CollectionId; versions: number[] } & PackedDocuments;
    answer: Outcome<{ chunks: number }>[];
  };
  /**
   * Copies what a staged collection lacks of its source, vectors too: some documents behind `after`. Answers where it
   * came to, null at the end.
   */
  copyStaged: {
    request: { collection: CollectionRef; source: CollectionRef; after: string | undefined };
    answer: { after: string | null; walked: number; missing: number };
  };
  /**
   * Some documents behind `after` that have no text, if only the first chunk is looked at; where it came to, null at
   * the end.
   */
  findTextless: {
    request: { collection: CollectionId; after: string | undefined };
    answer: { after: string | null; docid: string | null };
  };
  /** Some documents behind `after` that the staged collection `twin` lacks, or has in another version. */
  listMissing: {
    request: { collection: CollectionId; twin: CollectionId; after: string | undefined };
    answer: MissingPage;
  };
  deleteDocument: {
    request: { collection: CollectionRef; docid: DocId; twins?: CollectionRef[] };
    answer: { chunks: number };
  };
  dropCollection: { request: { collection: CollectionId }; answer: null };
  counts: { request: { collections: CollectionId[] }; answer: ShardCounts[] };
  memory: { request: { collection: CollectionId }; answer: MemoryUse };
  walks: { request: { collection: CollectionId; k: number; chunks: number }; answer: Walks };
  /**
   * How far the graph of the shard's part is, which is brought into memory for it; null while that takes: ask again.
   * Refused with `storage_full` where memory has no room for it.
   */
  linking: { request: { collection: CollectionRef }; answer: LinkingState | null };
  /** Over all collections but some; and what is in use of the shard's memory. */
  totals: { request: { without: CollectionId[] }; answer: ShardCounts & { memoryBytes: number } };
  /**
   * Documents behind `after` in the order of their keys (store/keys). Fewer than `max` where the page would grow too
   * large.
   */
  listDocuments: {
    request: { collection: CollectionId; after: string | undefined; max: number };
    answer: DocumentPage;
  };
  /** As JSON text, like all records: metadata may be nested deeper than a structured clone goes. */
  getDocument: { request: { collection: CollectionId; docid: string }; answer: string | null };
  /** Chunks of a document from a position on. Fewer than `max` where the page would grow too large. */
  listChunks: { request: { collection: CollectionId; docid: string; from: number; max: number }; answer: ListPage };
  getChunk: { request: { collection: CollectionId; rid: string }; answer: string | null };
  /** Where the chunks of documents stand. */
  listOrdinals: { request: { collection: CollectionId; docids: DocId[] }; answer: Uint32Array };
  /** What the texts of chunks were embedded to. */
  textVectors: { request: { collection: CollectionRef; ordinals: Uint32Array }; answer: TextVectors };
  /**
   * Vectors of the rows at or behind some places, from 0 to 1 of the part's ordinals, with their chunk ids; a place has
   * one or none.
   */
  sampleVectors: {
    request: { collection: CollectionRef; places: Float64Array };
    answer: { ids: string[]; vectors: Float32Array } | null;
  };
  getContent: { request: { collection: CollectionId; rid: string }; answer: { text: string | null } | null };
}

export type ShardOp = keyof ShardCommands;
export type ShardRequest<O extends ShardOp> = { op: O } & ShardCommands[O]['request'];
export type ShardCommand = { [O in ShardOp]: ShardRequest<O> }[ShardOp];
export type ShardAnswer<O extends ShardOp> = ShardCommands[O]['answer'];

/** What those who pass a command on know of it by its name. */
interface CommandTraits {
  /** A shard takes it before it is open. */
  readonly opens?: true;
  /** It is about the documents of its collection, and so refused for a damaged one. Dropping that goes on. */
  readonly isGuarded?: true;
  /** It changes a store: such commands share one commit, and a shard has one batch of them under way at a time. */
  readonly writes?: true;
  /** It writes documents: such commands next to each other are one write. */
  readonly writesDocuments?: true;
  /** It waits until the parts that it goes to are in memory. */
  readonly needsParts?: true;
  /** It waits for the end of a checkpoint's last pass. */
  readonly changesMemory?: true;
}

/** The collection it is about; left out for commands of the catalog, or of no collection. */
interface Aim<O extends ShardOp> {
  readonly collection?: (request: ShardCommands[O]['request']) => CollectionId;
}

const ofRef = ({ collection }: { collection: Pick<CollectionRef, 'id'> }): CollectionId => collection.id;
const ofId = ({ collection }: { collection: CollectionId }): CollectionId => collection;

const OPENING = { opens: true } as const;
const CATALOG_WRITE = { writes: true } as const;
const COLLECTION_WRITE = { collection: ofRef, writes: true } as const;
const PREPARATION = { collection: ofRef, isGuarded: true, changesMemory: true } as const;
const COPY = { ...PREPARATION, writes: true, needsParts: true } as const;
const DOCUMENT_WRITE = { ...COPY, writesDocuments: true } as const;
const DOCUMENT_READ = { collection: ofId, isGuarded: true } as const;
const VECTOR_READ = { collection: ofRef, isGuarded: true } as const;

const COMMANDS = {
  open: OPENING,
  prepare: PREPARATION,
  put: DOCUMENT_WRITE,
  putMany: DOCUMENT_WRITE,
  putStaged: DOCUMENT_WRITE,
  copyStaged: COPY,
  findTextless: DOCUMENT_READ,
  listMissing: DOCUMENT_READ,
  deleteDocument: DOCUMENT_WRITE,
  dropCollection: { collection: ofId, writes: true, changesMemory: true },
  counts: {},
  memory: { collection: ofId },
  walks: { collection: ofId },
  linking: PREPARATION,
  totals: {},
  listDocuments: DOCUMENT_READ,
  getDocument: DOCUMENT_READ,
  listChunks: DOCUMENT_READ,
  getChunk: DOCUMENT_READ,
  listOrdinals: DOCUMENT_READ,
  textVectors: VECTOR_READ,
  sampleVectors: VECTOR_READ,
  getContent: DOCUMENT_READ,
  loadCatalog: OPENING,
  createCollection: CATALOG_WRITE,
  updateCollection: COLLECTION_WRITE,
  deleteCollection: COLLECTION_WRITE,
  loadTenants: OPENING,
  createTenant: CATALOG_WRITE,
  updateTenant: CATALOG_WRITE,
  deleteTenant: CATALOG_WRITE,
  createKey: CATALOG_WRITE,
  revokeKey: CATALOG_WRITE,
  loadStaged: OPENING,
  stageCollection: CATALOG_WRITE,
  unstageCollection: CATALOG_WRITE,
  switchCollection: CATALOG_WRITE,
  replaceDataset: CATALOG_WRITE,
  loadJobs: OPENING,
  createJob: CATALOG_WRITE,
  saveJob: CATALOG_WRITE,
} as const satisfies { [O in ShardOp]: CommandTraits & Aim<O> };

type OpWith<Trait extends string> = {
  [O in ShardOp]: (typeof COMMANDS)[O] extends Record<Trait, true> ? O : never;
}[ShardOp];

/** A command that writes documents, as it comes. */
export type WriteCommand = { [O in OpWith<'writesDocuments'>]: ShardRequest<O> }[OpWith<'writesDocuments'>];
/** What wants a part to be in memory before it runs. */
export type PartCommand = { [O in OpWith<'needsParts'>]: ShardRequest<O> }[OpWith<'needsParts'>];

export const traitsOf = (op: ShardOp): CommandTraits => COMMANDS[op] as CommandTraits;

/**
 * The collection that a command is about: what it writes to, is refused for, or finds damaged; undefined for one of the
 * catalog, or of no collection.
 */
export function collectionIn(command: ShardCommand): CollectionId | undefined {
  const { collection } = COMMANDS[command.op] as Aim<ShardOp>;
  return collection?.(command as never);
}

/**
 * The memories and stores of all shards, for the threads that work on them. A checkpoint is written every `checkpointMs`, 0 for never.
 */
export interface SharedShards {
  kernel: WebAssembly.Module;
  /** Of each shard its arenas, the home first. */
  memories: WebAssembly.Memory[][];
  /** Where each of these ends. */
  arenaPagesMax: number;
  directory: string;
  /**
   * Of SharedMeters: what the workers count. Of Latch, in the same places: what keeps the owners of the stores from
   * committing.
   */
  meters: SharedArrayBuffer;
  latches: SharedArrayBuffer;
  /** A small part that is not used for so long leaves the memory; 0 for never. */
  idleSeconds: number;
  checkpointMs: number;
}

/** Given to a shard worker when it starts. `starts`: of each shard, how many workers have had it in this process. */
export type ShardWorkerStart = SharedShards & { shard: number; starts: SharedArrayBuffer };
