// The commands between the main thread and the shard workers, and their properties. Messages are plain data that
// survives structured cloning. A shard is changed by commands alone, and applying one reads no clock and no random
// number: the same commands in the same order give the same shard on any machine.
import type { CollectionGroup, CollectionRef, IndexingState, SearchEf, ShardMemory } from '../../api/collections.js';
import type { Result } from '../../api/errors.js';
import type { Filter } from '../../api/filter.js';
import type { CollectionId, DocId } from '../../api/ids.js';
import type { MemoryPlacement, PlacedCollections } from '../../api/memory-placement.js';
import type { CatalogCommands } from '../../storage/catalog-commands.js';
import type { AnswerToKeep, KeptAnswer } from '../../storage/kept-answers.js';
import type { AppliedLog } from '../../storage/journal.js';
import type { DocumentBatch, PackedDocuments } from '../../text/prepared-document.js';

/** A dual write: a further collection that a document goes to, in the same transaction. */
export interface DualWrite {
  collection: CollectionRef;
  /**
   * The document's rows in that collection. `same`: the rows of the main collection. null: they do not exist yet, so
   * the collection's copy of the document is deleted, to be filled in later.
   */
  vectors: Float32Array | 'same' | null;
}

/** A change of the metadata and the expiry of documents. */
export interface MetadataChange {
  /** A JSON object: a merge patch (RFC 7396), or the new metadata, as `replaces` says. Absent: the metadata stay. */
  patchJson?: string | undefined;
  replaces: boolean;
  /** The field that the priority comes from. */
  priorityKey: string;
  /** Limit of the resulting metadata without the server's own fields, as JSON. */
  bytesMax: number;
  /** The second from which on the documents are gone; 0: never. Absent: as it is. */
  expiresAtS?: number | undefined;
}

export interface ShardCounts {
  documents: number;
  chunks: number;
}

/** A page of a listing; the records are JSON texts. */
interface ListPage {
  records: string[];
  /** Whether more records follow this page. */
  more: boolean;
}

interface DocumentPage extends ListPage {
  /** The document id of each record. */
  docids: string[];
  /** The last document that was looked at, shown or not; absent at the end of an empty page. */
  after?: string;
}

/** Documents that must be embedded again, packed as they were prepared at ingest. */
interface MissingPage extends Omit<PackedDocuments, 'vectors'> {
  versions: number[];
  /** Number of chunks of all documents that were looked at. */
  scanned: number;
  /** The last document that was looked at; null at the end. */
  after: string | null;
  /** Whether any chunk has no text because its vector came from the caller. */
  hasTextless: boolean;
}

/** Digest (text/text-digest) and vector of those of the given chunks that have a text, one row for each. */
export interface TextVectors {
  digests: Uint8Array;
  vectors: Float32Array;
  /** Number of ordinals covered, at least one; fewer than given if the answer would grow too large. */
  taken: number;
}

/** Every command that a shard worker takes, with its answer. Catalog commands go to the owner of shard 0. */
export interface ShardCommands extends CatalogCommands {
  /**
   * First command of each worker: opens the store, drops data that belongs to no collection (unless `isWhole` is false,
   * which means that the list of collections may be incomplete), and takes stock of what is stored. Nothing is loaded
   * for it.
   */
  open: { request: { collections: CollectionGroup[]; isWhole: boolean }; answer: null };
  /**
   * Loads the segments of a collection and builds the missing indexes of a search. Answers false while that takes: send
   * it again. Fails with `storage_full` if vectors or text index do not fit in memory.
   */
  prepare: { request: { collection: CollectionRef; textIndex: boolean; fields: boolean }; answer: boolean };
  /**
   * Writes a document. `chunksLeft`: number of chunks by which the collection may grow; a document that needs more fails
   * with `chunk_limit_reached`. `keep`: the answer is kept, in the same transaction; a request that has one already is
   * given that, and writes nothing, or fails with `idempotency_key_reused`.
   */
  put: {
    request: {
      collection: CollectionRef;
      document: Uint8Array;
      vectors: Float32Array;
      chunksLeft?: number;
      dualWrites?: DualWrite[];
      keep?: AnswerToKeep;
    };
    answer: { chunks: number; version: number; docid?: DocId };
  };
  /** Several puts in order, in one commit. Each has its own result. `keep`: as in a put, for each of them. */
  putMany: {
    request: { collection: CollectionRef; dualWrites?: DualWrite[]; keep?: AnswerToKeep[] } & PackedDocuments;
    answer: Result<{ chunks: number; version: number; docid?: DocId }>[];
  };
  /**
   * Writes documents to a shadow collection, with their versions in the source. A document that the shadow collection
   * already has in this version is skipped, unless `isForced`; with `source`, so is one that the source does not have
   * in this version. Without documents the command only waits for the writes before it.
   */
  putShadow: {
    request: {
      collection: CollectionRef;
      source?: CollectionId;
      versions: number[];
      isForced?: boolean;
    } & PackedDocuments;
    answer: Result<{ chunks: number }>[];
  };
  /**
   * Copies documents after `after`, with vectors, that a shadow collection lacks of its source. Answers the last
   * document looked at, null at the end.
   */
  copyShadow: {
    request: { collection: CollectionRef; source: CollectionRef; after: string | undefined };
    answer: { after: string | null; scanned: number; missing: number };
  };
  /**
   * Looks for a document after `after` without text; only first chunks are read. Answers the last document looked at,
   * null at the end.
   */
  findTextless: {
    request: { collection: CollectionId; after: string | undefined };
    answer: { after: string | null; docid: string | null };
  };
  /** Documents after `after` that the shadow collection `shadow` lacks or has in another version. */
  listMissing: {
    request: { collection: CollectionId; shadow: CollectionId; after: string | undefined };
    answer: MissingPage;
  };
  /**
   * Whole documents with their vectors, to be put elsewhere by `putShadow`, in batches by their place among `spread`
   * shards: those after `after`, or those with the ids `docids`. Answers the last one looked at, null at the end, and the
   * ids that do not exist.
   */
  exportDocuments: {
    request: { collection: CollectionRef; spread: number; after?: string | undefined; docids?: DocId[] };
    answer: { batches: DocumentBatch[]; absent: DocId[]; scanned: number; after: string | null };
  };
  /**
   * With `ifVersion`, patches and deletions fail with `version_conflict` if the document has another version. What has
   * expired in second `nowS` counts as not stored, in this and the next commands.
   */
  deleteDocument: {
    request: {
      collection: CollectionRef;
      docid: DocId;
      ifVersion?: number;
      nowS?: number;
      dualWrites?: CollectionRef[];
      keep?: AnswerToKeep;
    };
    answer: { chunks: number };
  };
  /**
   * Changes the metadata of a document; chunks, texts and vectors stay. The version increases as with a put. Answers
   * version 0 if the document does not exist. Fails with `metadata_too_large`, `invalid_metadata` or
   * `invalid_metadata_keys`.
   */
  patchDocument: {
    request: {
      collection: CollectionRef;
      docid: DocId;
      change: MetadataChange;
      ifVersion?: number;
      nowS?: number;
      dualWrites?: CollectionRef[];
      keep?: AnswerToKeep;
    };
    answer: { chunks: number; version: number };
  };
  /** The same for those of the first `looked` of `docids` that match the filter. */
  patchDocuments: {
    request: {
      collection: CollectionRef;
      filter: Filter;
      docids: DocId[];
      change: MetadataChange;
      nowS?: number;
      dualWrites?: CollectionRef[];
    };
    answer: { docids: DocId[]; chunks: number; looked: number };
  };
  /**
   * Documents whose own metadata match the filter: of `docids`, or of all after `after`. A page looks at the first
   * `looked` of them, and its last document is `after`, null at the end.
   */
  findDocuments: {
    request: { collection: CollectionId; filter: Filter; docids?: DocId[]; after?: string; nowS?: number };
    answer: { docids: DocId[]; chunks: number; looked: number; after: string | null };
  };
  /**
   * Deletes those of the first `looked` of `docids` that match the filter, and answers them with their chunks. With
   * `expiredBy`, those that have expired in that second.
   */
  deleteDocuments: {
    request: {
      collection: CollectionRef;
      filter: Filter;
      docids: DocId[];
      nowS?: number;
      expiredBy?: number;
      dualWrites?: CollectionRef[];
    };
    answer: { docids: DocId[]; chunks: number; looked: number };
  };
  /**
   * Documents that have expired in second `nowS`: some of each of the next collections after `after` that have any. The
   * answer's `after` is null when no collection is left.
   */
  findExpired: {
    request: { nowS: number; after: CollectionId | null };
    answer: { found: { collection: CollectionId; docids: DocId[] }[]; after: CollectionId | null };
  };
  /** Up to `max` answers that are kept of the items of a keyed request from `from` on. */
  keptAnswers: { request: { log: CollectionId; key: string; from: number; max: number }; answer: KeptAnswer[] };
  /** Keeps an answer by itself, of a request that was several commits. */
  keepAnswer: { request: { keep: AnswerToKeep; answer: object }; answer: null };
  /** Forgets some of the answers that were kept before second `sinceS`, and answers how many. */
  forgetAnswers: { request: { sinceS: number }; answer: number };
  dropCollection: { request: { collection: CollectionId }; answer: null };
  /**
   * How far the shard and, at the owner of shard 0, the catalog have applied the command log of a cluster; null if they
   * never have.
   */
  appliedLog: {
    request: Record<never, never>;
    answer: { shard: AppliedLog | null; catalog: AppliedLog | null };
  };
  /**
   * From here on in the order of the commands, a client's write to the collection fails with `collection_changed` unless
   * it is made to the follower as well, with vectors for it. Nodes of a cluster, which do not learn at the same moment
   * that a collection is about to be replaced, so lose no write. null: any write is taken again; with `of`, only if that
   * was the follower.
   */
  setFollower: {
    request: { collection: CollectionId; follower: CollectionId | null; of?: CollectionId };
    answer: null;
  };
  /** Sets which collections the shard holds in memory, and answers what is not so yet. */
  placeMemory: { request: { placement: MemoryPlacement; keep: readonly CollectionId[] }; answer: PlacedCollections };
  counts: { request: { collections: CollectionId[] }; answer: ShardCounts[] };
  memory: { request: { collection: CollectionId }; answer: ShardMemory };
  searchEf: { request: { collection: CollectionId; k: number; chunks: number }; answer: SearchEf };
  /**
   * Progress of the graph of the shard's segments, which are loaded for it. Answers null while that takes: send it
   * again. Fails with `storage_full` if they do not fit in memory.
   */
  indexing: { request: { collection: CollectionRef }; answer: IndexingState | null };
  /** Documents and chunks of all collections except `without`, and the bytes in use in the shard's memory. */
  totals: { request: { without: CollectionId[] }; answer: ShardCounts & { memoryBytes: number } };
  /**
   * Documents after `after` in the order of their keys (storage/keys). Fewer than `max` if the page would grow too
   * large. `metadata`: with the metadata of each.
   */
  listDocuments: {
    request: { collection: CollectionId; after: string | undefined; max: number; metadata?: boolean };
    answer: DocumentPage;
  };
  /** The record as JSON text, like all records: metadata may be nested deeper than structured cloning allows. */
  getDocument: { request: { collection: CollectionId; docid: string }; answer: string | null };
  /** Chunks of a document from a position on. Fewer than `max` if the page would grow too large. */
  listChunks: { request: { collection: CollectionId; docid: string; from: number; max: number }; answer: ListPage };
  getChunk: { request: { collection: CollectionId; rid: string }; answer: string | null };
  /** The ordinals of all chunks of the given documents. */
  listOrdinals: { request: { collection: CollectionId; docids: DocId[] }; answer: Uint32Array };
  /** The vectors to which the texts of the given chunks were embedded. */
  textVectors: { request: { collection: CollectionRef; ordinals: Uint32Array }; answer: TextVectors };
  /**
   * Samples vectors with their chunk ids: for each place, a fraction from 0 to 1 of the collection's ordinals, the
   * first chunk at or after it, if there is one.
   */
  sampleVectors: {
    request: { collection: CollectionRef; places: Float64Array };
    answer: { ids: string[]; vectors: Float32Array };
  };
  getContent: { request: { collection: CollectionId; rid: string }; answer: { text: string | null } | null };
}

export type ShardOp = keyof ShardCommands;
export type ShardRequest<O extends ShardOp> = { op: O } & ShardCommands[O]['request'];
export type ShardCommand = { [O in ShardOp]: ShardRequest<O> }[ShardOp];
export type ShardAnswer<O extends ShardOp> = ShardCommands[O]['answer'];

/** One document of a `putShadow` command. */
export interface StagedPut {
  op: 'putShadow';
  collection: CollectionRef;
  source?: CollectionId | undefined;
  isForced?: boolean | undefined;
  document: Uint8Array;
  version: number;
  vectors: Float32Array;
}

/** A single write of a batch. */
export type DocumentWrite =
  | ShardRequest<'put'>
  | StagedPut
  | ShardRequest<'deleteDocument'>
  | ShardRequest<'patchDocument'>;
export type WriteAnswer = ShardAnswer<'put'> | ShardAnswer<'deleteDocument'>;

/** Properties of a command, for code that forwards it without knowing its contents. */
interface CommandTraits {
  /** The shard accepts it before it is open. */
  readonly opens?: true;
  /**
   * It concerns the documents of its collection, so it fails if the collection is damaged. Dropping a damaged
   * collection stays possible.
   */
  readonly isGuarded?: true;
  /** It changes a store. Such commands share one commit, and a shard has one batch of them under way at a time. */
  readonly writes?: true;
  /** It writes documents. Consecutive commands of this kind are one write. */
  readonly writesDocuments?: true;
  /** It is a client's write of documents to the collection that has the name. */
  readonly isOfClient?: true;
  /** It waits until the segments of its collections are in memory. */
  readonly needsSegments?: true;
  /** It waits for the end of a write freeze. */
  readonly changesMemory?: true;
}

/** The collection of the command; left out for commands of the catalog or of no collection. */
interface Aim<O extends ShardOp> {
  readonly collection?: (request: ShardCommands[O]['request']) => CollectionId;
}

const ofRef = ({ collection }: { collection: Pick<CollectionRef, 'id'> }): CollectionId => collection.id;
const ofId = ({ collection }: { collection: CollectionId }): CollectionId => collection;

const OPENING = { opens: true } as const;
const CATALOG_WRITE = { writes: true } as const;
const COLLECTION_WRITE = { collection: ofRef, writes: true } as const;
const PREPARATION = { collection: ofRef, isGuarded: true, changesMemory: true } as const;
const COPY = { ...PREPARATION, writes: true, needsSegments: true } as const;
const DOCUMENT_WRITE = { ...COPY, writesDocuments: true } as const;
const CLIENT_WRITE = { ...DOCUMENT_WRITE, isOfClient: true } as const;
const DOCUMENT_READ = { collection: ofId, isGuarded: true } as const;
const VECTOR_READ = { collection: ofRef, isGuarded: true } as const;

/** The commands that the owner of shard 0 takes for the catalog. */
const CATALOG = {
  loadCatalog: OPENING,
  createCollection: CATALOG_WRITE,
  updateCollection: COLLECTION_WRITE,
  deleteCollection: COLLECTION_WRITE,
  loadAliases: OPENING,
  putAlias: CATALOG_WRITE,
  deleteAlias: CATALOG_WRITE,
  loadJudgementSets: {},
  listJudgementSets: {},
  getJudgementSet: {},
  putJudgementSet: CATALOG_WRITE,
  deleteJudgementSet: CATALOG_WRITE,
  loadTenants: OPENING,
  createTenant: CATALOG_WRITE,
  updateTenant: CATALOG_WRITE,
  deleteTenant: CATALOG_WRITE,
  createKey: CATALOG_WRITE,
  revokeKey: CATALOG_WRITE,
  loadShadows: OPENING,
  createShadow: CATALOG_WRITE,
  dropShadow: CATALOG_WRITE,
  switchCollection: CATALOG_WRITE,
  replaceDataset: CATALOG_WRITE,
  loadJobs: OPENING,
  createJob: CATALOG_WRITE,
  saveJob: CATALOG_WRITE,
} as const satisfies { [O in keyof CatalogCommands]: CommandTraits & Aim<O> };

const COMMANDS = {
  open: OPENING,
  prepare: PREPARATION,
  put: CLIENT_WRITE,
  putMany: CLIENT_WRITE,
  putShadow: DOCUMENT_WRITE,
  copyShadow: COPY,
  findTextless: DOCUMENT_READ,
  listMissing: DOCUMENT_READ,
  exportDocuments: VECTOR_READ,
  deleteDocument: CLIENT_WRITE,
  patchDocument: CLIENT_WRITE,
  patchDocuments: { ...COPY, isOfClient: true },
  findDocuments: DOCUMENT_READ,
  deleteDocuments: { ...COPY, isOfClient: true },
  findExpired: { changesMemory: true },
  keptAnswers: {},
  keepAnswer: { writes: true },
  forgetAnswers: { writes: true },
  dropCollection: { collection: ofId, writes: true, changesMemory: true },
  appliedLog: {},
  setFollower: { collection: ofId, writes: true },
  placeMemory: { changesMemory: true },
  counts: {},
  memory: { collection: ofId },
  searchEf: { collection: ofId },
  indexing: PREPARATION,
  totals: {},
  listDocuments: DOCUMENT_READ,
  getDocument: DOCUMENT_READ,
  listChunks: DOCUMENT_READ,
  getChunk: DOCUMENT_READ,
  listOrdinals: DOCUMENT_READ,
  textVectors: VECTOR_READ,
  sampleVectors: VECTOR_READ,
  getContent: DOCUMENT_READ,
  ...CATALOG,
} as const satisfies { [O in ShardOp]: CommandTraits & Aim<O> };

type OpWith<Trait extends string> = {
  [O in ShardOp]: (typeof COMMANDS)[O] extends Record<Trait, true> ? O : never;
}[ShardOp];

/** Any command that writes documents. */
export type WriteCommand = { [O in OpWith<'writesDocuments'>]: ShardRequest<O> }[OpWith<'writesDocuments'>];
/** Any command that needs its segments in memory before it runs. */
export type SegmentCommand = { [O in OpWith<'needsSegments'>]: ShardRequest<O> }[OpWith<'needsSegments'>];

export const isOfCatalog = (op: ShardOp): boolean => op in CATALOG;

export const traitsOf = (op: ShardOp): CommandTraits => COMMANDS[op] as CommandTraits;

/**
 * The collection of a command, which it writes to and is refused for if damaged; undefined for commands of the catalog
 * or of no collection.
 */
export function collectionIn(command: ShardCommand): CollectionId | undefined {
  const { collection } = COMMANDS[command.op] as Aim<ShardOp>;
  return collection?.(command as never);
}

/**
 * What the threads that work on shards share: the memories and stores of all shards. A checkpoint is written every
 * `checkpointMs`, never if that is 0.
 */
export interface SharedShards {
  kernel: WebAssembly.Module;
  /** The arenas of each shard, the home arena first. */
  memories: WebAssembly.Memory[][];
  /** Maximum size of an arena in WebAssembly pages. */
  arenaPagesMax: number;
  directory: string;
  /**
   * `meters` is the memory of SharedMeters, in which workers count. `read gates` is that of ReadGate: the read gates by
   * which owners of stores are kept from committing.
   */
  meters: SharedArrayBuffer;
  readGates: SharedArrayBuffer;
  /** A small segment that is not used for this long is evicted; 0 disables it. */
  idleSeconds: number;
  checkpointMs: number;
  /** Bytes of the journal that each shard and the catalog keep; 0: no journal. */
  journalBytesMax: number;
  /** Whether this server is a node of a cluster. */
  isOfNode: boolean;
  /** What the shards hold in memory at first; undefined if that is everything. */
  placement: MemoryPlacement | undefined;
}

/** Start message of a shard worker. `starts` counts, for each shard, the workers that have owned it in this process. */
export type ShardWorkerStart = SharedShards & { shard: number; starts: SharedArrayBuffer };
