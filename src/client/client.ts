// A typed client of the HTTP API, one method per endpoint, exported as `sheaf/client`. Every method rejects with
// SheafError (the server returned an error), SheafUnreachable (no answer), or an AbortError once its signal is aborted.
import type { Alias, AliasList, DeletedAlias } from '../api/aliases.js';
import type {
  DeletedJudgementSet,
  JudgedQuery,
  JudgementSet,
  JudgementSetList,
  StoredJudgementSet,
} from '../api/judgements.js';
import type { ClusterState } from '../api/cluster.js';
import type {
  CollectionDetail,
  CollectionList,
  CollectionSummary,
  CreateBody,
  CreatedCollection,
  DeletedCollection,
  MovedCollection,
  UpdateBody,
  UpdatedCollection,
} from '../api/collections.js';
import type {
  BatchAnswer,
  BatchItemResult,
  BatchSummary,
  ChangedDocuments,
  ChunkList,
  ChunkSummary,
  DeleteDocumentsBody,
  DeletedDocument,
  DocumentList,
  DocumentSummary,
  IngestBody,
  Ingested,
  PatchDocumentBody,
  PatchDocumentsBody,
  PatchedDocument,
  StoredChunk,
  StoredDocument,
} from '../api/documents.js';
import type { Health, Liveness, MetricsAnswer, MetricsReset, Readiness } from '../api/health.js';
import type { SearchMode } from '../api/choices.js';
import type { QueryAnswer, QueryList, QuerySummary, ReplayAnswer } from '../api/queries.js';
import type { ReindexBody, ReindexJob, ReindexJobList, RolledBack } from '../api/reindex.js';
import type {
  SearchAnswer,
  CollectionsSearchAnswer,
  CollectionsSearchBody,
  SearchBatchAnswer,
  SearchBody,
  SearchHit,
  SearchQuery,
} from '../api/search.js';
import type { CountAnswer, CountBody } from '../api/count.js';
import type { RecallAnswer, RecallBody } from '../api/recall.js';
import type {
  CreateKeyBody,
  CreateTenantBody,
  CreatedKey,
  CreatedTenant,
  DeletedTenant,
  KeyList,
  RevokedKey,
  TenantList,
  TenantProfile,
  UpdateTenantBody,
  WhoAmI,
} from '../api/tenants.js';
import type { EmbedderInventory, Embeddings, EmbeddingsBody, TenantEmbedderInventory } from '../api/embedders.js';
import { ArchiveCalls } from './archives.js';
import { type DocumentRequest, type SearchRequest, documentBody, searchBody } from './encoding.js';
import { type DocumentSource, ingestStream } from './ingest-stream.js';
import {
  type Answered,
  type CallOptions,
  type DocumentPageOptions,
  type PageOptions,
  Transport,
  type TransportOptions,
  collectionPath,
} from './transport.js';

export { SheafConflict, SheafError, SheafNotFound, SheafUnavailable, SheafUnreachable } from './errors.js';
export type { ArchiveOptions, Download, ExportOptions, RestoreOptions } from './archives.js';
export type { DocumentRequest, Encoding, QueryRequest, SearchRequest } from './encoding.js';
export type { DocumentSource } from './ingest-stream.js';
export type { Answered, CallOptions, DocumentPageOptions, PageOptions, TransportOptions } from './transport.js';
export type * from '../api/aliases.js';
export type * from '../api/judgements.js';
export type * from '../api/archives.js';
export type * from '../api/choices.js';
export type * from '../api/collections.js';
export type * from '../api/documents.js';
export type * from '../api/embedders.js';
export type * from '../api/health.js';
export type * from '../api/queries.js';
export type * from '../api/count.js';
export type * from '../api/recall.js';
export type * from '../api/reindex.js';
export type * from '../api/search.js';
export type * from '../api/tenants.js';

export interface IngestFile extends Pick<IngestBody, 'docid' | 'metadata' | 'if_version' | 'expires_at'> {
  /** File name; its extension determines the type. */
  name: string;
  content: Blob;
  /** Options for CSV and TSV files. */
  csv?: CsvOptions;
}

/** CSV options. Columns are given by name or by number from 1. */
export interface CsvOptions {
  hasHeader?: 'auto' | 'yes' | 'no';
  /** Columns that become metadata. */
  metaColumns?: readonly (string | number)[];
  /** Columns that become text. Default: all columns that are not metadata. */
  includeColumns?: readonly (string | number)[];
}

export class SheafClient {
  readonly queries: QueryCalls;
  readonly admin: AdminCalls;
  readonly archives: ArchiveCalls;
  readonly reindex: ReindexCalls;
  private readonly transport: Transport;

  /**
   * Throws TypeError if `options.url` is not an http address or `options.key` is not a valid key. Opens no connection.
   */
  constructor(options: TransportOptions) {
    this.transport = new Transport(options);
    this.queries = new QueryCalls(this.transport);
    this.admin = new AdminCalls(this.transport);
    this.archives = new ArchiveCalls(this.transport);
    this.reindex = new ReindexCalls(this.transport);
  }

  health(call?: CallOptions): Promise<Answered<Health>> {
    return this.transport.get(['health'], { retriesMax: 0, ...call });
  }

  /** What the key of this client is and may do. */
  whoami(call?: CallOptions): Promise<Answered<WhoAmI>> {
    return this.transport.get(['v1', 'whoami'], call);
  }

  live(call?: CallOptions): Promise<Answered<Liveness>> {
    return this.transport.get(['health', 'live'], { retriesMax: 0, ...call });
  }

  /** Rejects with status 503 until storage and embedders are ready. */
  ready(call?: CallOptions): Promise<Answered<Readiness>> {
    return this.transport.get(['health', 'ready'], { retriesMax: 0, ...call });
  }

  /** `history` adds how some of the figures were in the latest five minutes. */
  metrics({
    history,
    ...call
  }: CallOptions & { history?: boolean | undefined } = {}): Promise<Answered<MetricsAnswer>> {
    return this.transport.json({ method: 'GET', path: ['health', 'metrics'], query: { history }, ...call });
  }

  metricsText(call?: CallOptions): Promise<string> {
    return this.transport.text({ method: 'GET', path: ['metrics'], ...call });
  }

  createCollection(
    tenant: string,
    name: string,
    options?: CreateBody,
    call?: CallOptions,
  ): Promise<Answered<CreatedCollection>> {
    return this.transport.post(collectionPath(tenant, name), options, call);
  }

  listCollections(tenant: string, options?: PageOptions): Promise<Answered<CollectionList>> {
    return this.transport.page(['v1', 'collections', tenant], options);
  }

  eachCollection(tenant: string, options?: PageOptions): AsyncGenerator<CollectionSummary, void> {
    return this.transport.each(
      (page) => this.listCollections(tenant, page),
      ({ collections }) => collections,
      options,
    );
  }

  collectionDetail(tenant: string, name: string, call?: CallOptions): Promise<Answered<CollectionDetail>> {
    return this.transport.get(collectionPath(tenant, name, 'detail'), call);
  }

  updateCollection(
    tenant: string,
    name: string,
    body: UpdateBody,
    call?: CallOptions,
  ): Promise<Answered<UpdatedCollection>> {
    return this.transport.patch(collectionPath(tenant, name), body, call);
  }

  moveCollection(
    tenant: string,
    name: string,
    newName: string,
    call?: CallOptions,
  ): Promise<Answered<MovedCollection>> {
    return this.transport.post(collectionPath(tenant, name, 'move'), { new_name: newName }, call);
  }

  deleteCollection(tenant: string, name: string, call?: CallOptions): Promise<Answered<DeletedCollection>> {
    return this.transport.delete(collectionPath(tenant, name), call);
  }

  /** Lets an alias stand for a collection, and switches it in one step if it stood for another one. */
  putAlias(tenant: string, alias: string, collection: string, call?: CallOptions): Promise<Answered<Alias>> {
    return this.transport.json({ method: 'PUT', path: aliasPath(tenant, alias), body: { collection }, ...call });
  }

  deleteAlias(tenant: string, alias: string, call?: CallOptions): Promise<Answered<DeletedAlias>> {
    return this.transport.delete(aliasPath(tenant, alias), call);
  }

  listAliases(tenant: string, call?: CallOptions): Promise<Answered<AliasList>> {
    return this.transport.get(['v1', 'aliases', tenant], call);
  }

  ingestText(
    tenant: string,
    collection: string,
    body: IngestBody & { text: string },
    call?: CallOptions,
  ): Promise<Answered<Ingested>> {
    return this.transport.postEncoded(documentsPath(tenant, collection), body, this.transport.keyed(call));
  }

  ingestVector(
    tenant: string,
    collection: string,
    body: DocumentRequest & { vector: number[] | Float32Array },
    call?: CallOptions,
  ): Promise<Answered<Ingested>> {
    const { transport } = this;
    const sent = documentBody(body, transport.encoding);
    return transport.postEncoded(documentsPath(tenant, collection), sent, transport.keyed(call));
  }

  /** Sends a file as multipart form data. Content is streamed if its Blob comes from a file. */
  ingestFile(tenant: string, collection: string, file: IngestFile, call?: CallOptions): Promise<Answered<Ingested>> {
    const body = new FormData();
    if (file.docid != null) body.set('docid', file.docid);
    if (file.metadata != null) body.set('metadata', JSON.stringify(file.metadata));
    if (file.if_version != null) body.set('if_version', String(file.if_version));
    if (file.expires_at != null) body.set('expires_at', String(file.expires_at));
    body.set('file', file.content, file.name);
    const { hasHeader: csv_has_header, metaColumns, includeColumns } = file.csv ?? {};
    const query = {
      csv_has_header,
      csv_meta_cols: metaColumns?.join(','),
      csv_include_cols: includeColumns?.join(','),
    };
    const options = this.transport.keyed(call);
    return this.transport.json({ method: 'POST', path: documentsPath(tenant, collection), query, body, ...options });
  }

  /** Returns a result for each document, in order. A failed document does not reject the call. */
  ingestBatch(
    tenant: string,
    collection: string,
    documents: readonly DocumentRequest[],
    call?: CallOptions,
  ): Promise<Answered<BatchAnswer>> {
    const { encoding } = this.transport;
    const body = { documents: documents.map((document) => documentBody(document, encoding)) };
    return this.transport.postEncoded(
      collectionPath(tenant, collection, 'documents:batch'),
      body,
      this.transport.keyed(call),
    );
  }

  /**
   * Ingests any number of documents as the source yields them; results arrive meanwhile. Sent once, without
   * retries; with an `idempotencyKey` the same documents may be sent again in the same order.
   */
  ingestStream(
    tenant: string,
    collection: string,
    documents: DocumentSource,
    call?: CallOptions,
  ): AsyncGenerator<BatchItemResult, BatchSummary> {
    return ingestStream(this.transport, collectionPath(tenant, collection, 'documents:batch'), documents, call);
  }

  listDocuments(tenant: string, collection: string, options?: DocumentPageOptions): Promise<Answered<DocumentList>> {
    return this.transport.page(documentsPath(tenant, collection), options);
  }

  eachDocument(
    tenant: string,
    collection: string,
    options?: DocumentPageOptions,
  ): AsyncGenerator<DocumentSummary, void> {
    return this.transport.each(
      (page: DocumentPageOptions) => this.listDocuments(tenant, collection, page),
      ({ documents }) => documents,
      options,
    );
  }

  getDocument(
    tenant: string,
    collection: string,
    docid: string,
    call?: CallOptions,
  ): Promise<Answered<StoredDocument>> {
    return this.transport.get(documentsPath(tenant, collection, docid), call);
  }

  deleteDocument(
    tenant: string,
    collection: string,
    docid: string,
    call?: CallOptions & { ifVersion?: number },
  ): Promise<Answered<DeletedDocument>> {
    const { ifVersion: if_version, ...options } = this.transport.keyed(call);
    const path = documentsPath(tenant, collection, docid);
    return this.transport.json({ method: 'DELETE', path, query: { if_version }, ...options });
  }

  /** Changes the metadata of a document; its texts and vectors stay. */
  patchDocument(
    tenant: string,
    collection: string,
    docid: string,
    body: PatchDocumentBody,
    call?: CallOptions,
  ): Promise<Answered<PatchedDocument>> {
    return this.transport.patch(documentsPath(tenant, collection, docid), body, this.transport.keyed(call));
  }

  patchDocuments(
    tenant: string,
    collection: string,
    body: PatchDocumentsBody,
    call?: CallOptions,
  ): Promise<Answered<ChangedDocuments>> {
    return this.transport.post(collectionPath(tenant, collection, 'documents:patch'), body, this.transport.keyed(call));
  }

  /** Deletes the documents of a list, or those that match metadata filters; with `dry_run` it only counts them. */
  deleteDocuments(
    tenant: string,
    collection: string,
    body: DeleteDocumentsBody,
    call?: CallOptions,
  ): Promise<Answered<ChangedDocuments>> {
    return this.transport.post(
      collectionPath(tenant, collection, 'documents:delete'),
      body,
      this.transport.keyed(call),
    );
  }

  listChunks(tenant: string, collection: string, docid: string, options?: PageOptions): Promise<Answered<ChunkList>> {
    return this.transport.page(documentsPath(tenant, collection, docid, 'chunks'), options);
  }

  eachChunk(
    tenant: string,
    collection: string,
    docid: string,
    options?: PageOptions,
  ): AsyncGenerator<ChunkSummary, void> {
    return this.transport.each(
      (page) => this.listChunks(tenant, collection, docid, page),
      ({ chunks }) => chunks,
      options,
    );
  }

  getChunk(tenant: string, collection: string, rid: string, call?: CallOptions): Promise<Answered<StoredChunk>> {
    return this.transport.get(collectionPath(tenant, collection, 'chunks', rid), call);
  }

  /** The text of a chunk. Rejects with 404 `chunk_content_not_found` for a chunk that was ingested as a vector. */
  chunkContent(tenant: string, collection: string, rid: string, call?: CallOptions): Promise<string> {
    return this.transport.text({
      method: 'GET',
      path: collectionPath(tenant, collection, 'chunks', rid, 'content'),
      ...call,
    });
  }

  search(tenant: string, collection: string, body: SearchRequest, call?: CallOptions): Promise<Answered<SearchAnswer>> {
    const { encoding } = this.transport;
    return this.transport.search(collectionPath(tenant, collection, 'search'), searchBody(body, encoding), call);
  }

  /** The hits of a search, page by page, by its cursor. `k` is the size of a page. */
  async *eachHit(
    tenant: string,
    collection: string,
    body: Omit<SearchRequest, 'cursor' | 'offset'>,
    call?: CallOptions,
  ): AsyncGenerator<SearchHit, void> {
    for (let cursor: string | undefined = '*'; cursor !== undefined; ) {
      const page: SearchAnswer = await this.search(tenant, collection, { ...body, cursor }, call);
      yield* page.matches;
      cursor = page.next_cursor;
    }
  }

  /** Returns a result for each search, in order; up to 1,000. A failed search does not reject the call. */
  searchBatch(
    tenant: string,
    collection: string,
    searches: readonly SearchRequest[],
    call?: CallOptions,
  ): Promise<Answered<SearchBatchAnswer>> {
    const { encoding } = this.transport;
    const body = { searches: searches.map((search) => searchBody(search, encoding)) };
    return this.transport.search(collectionPath(tenant, collection, 'search:batch'), body, call);
  }

  searchCollections(
    tenant: string,
    body: SearchRequest & Pick<CollectionsSearchBody, 'collections' | 'merge'>,
    call?: CallOptions,
  ): Promise<Answered<CollectionsSearchAnswer>> {
    return this.transport.search(['v1', 'search', tenant], searchBody(body, this.transport.encoding), call);
  }

  /** Stores a set of judged queries, in place of the one of its name. */
  putJudgements(
    tenant: string,
    collection: string,
    set: string,
    queries: readonly JudgedQuery[],
    call?: CallOptions,
  ): Promise<Answered<StoredJudgementSet>> {
    const path = collectionPath(tenant, collection, 'judgements', set);
    return this.transport.json({ method: 'PUT', path, body: { queries }, ...call });
  }

  getJudgements(tenant: string, collection: string, set: string, call?: CallOptions): Promise<Answered<JudgementSet>> {
    return this.transport.get(collectionPath(tenant, collection, 'judgements', set), call);
  }

  listJudgements(tenant: string, collection: string, call?: CallOptions): Promise<Answered<JudgementSetList>> {
    return this.transport.get(collectionPath(tenant, collection, 'judgements'), call);
  }

  deleteJudgements(
    tenant: string,
    collection: string,
    set: string,
    call?: CallOptions,
  ): Promise<Answered<DeletedJudgementSet>> {
    return this.transport.delete(collectionPath(tenant, collection, 'judgements', set), call);
  }

  /** Searches by query string, so that an HTTP cache can store the answer. */
  searchByQuery(
    tenant: string,
    collection: string,
    query: SearchQuery,
    call?: CallOptions,
  ): Promise<Answered<SearchAnswer>> {
    return this.transport.json({
      method: 'GET',
      path: collectionPath(tenant, collection, 'search'),
      query: { ...query },
      ...call,
    });
  }

  /** Searches the shared scope, which has no hits while it is switched off. */
  searchShared(body: SearchBody & { q: string }, call?: CallOptions): Promise<Answered<SearchAnswer>> {
    return this.transport.search(['v1', 'search'], body, call);
  }

  searchSharedByQuery(query: SearchQuery, call?: CallOptions): Promise<Answered<SearchAnswer>> {
    return this.transport.json({ method: 'GET', path: ['v1', 'search'], query: { ...query }, ...call });
  }

  count(tenant: string, collection: string, body: CountBody = {}, call?: CallOptions): Promise<Answered<CountAnswer>> {
    const path = collectionPath(tenant, collection, 'count');
    return this.transport.json({ method: 'POST', path, body, isRead: true, ...call });
  }

  /** Measures recall by comparing searches of the collection with exact ones; takes up to ten seconds. */
  recall(tenant: string, collection: string, body?: RecallBody, call?: CallOptions): Promise<Answered<RecallAnswer>> {
    return this.transport.post(collectionPath(tenant, collection, 'recall'), body, call);
  }

  embeddings(body: EmbeddingsBody, call?: CallOptions): Promise<Answered<Embeddings>> {
    return this.transport.post(['v1', 'embeddings'], body, call);
  }

  listEmbedders(tenant: string, call?: CallOptions): Promise<Answered<TenantEmbedderInventory>> {
    return this.transport.get(['v1', 'embedders', tenant], call);
  }
}

const aliasPath = (tenant: string, alias: string): string[] => ['v1', 'aliases', tenant, alias];

const documentsPath = (tenant: string, collection: string, ...rest: string[]): string[] =>
  collectionPath(tenant, collection, 'documents', ...rest);

interface QueryPageOptions extends PageOptions {
  offset?: number;
  q?: string;
  mode?: SearchMode;
  actor?: string;
}

/** Page size of the iterator: the server's maximum. */
const QUERIES_PAGE_LENGTH = 500;

/** Logged searches, as `client.queries`. */
class QueryCalls {
  constructor(private readonly transport: Transport) {}

  /** Logged searches, latest first. Default of `limit`: 50. */
  list(
    tenant: string,
    collection: string,
    { limit, offset, cursor, q, mode, actor, ...call }: QueryPageOptions = {},
  ): Promise<Answered<QueryList>> {
    return this.transport.json({
      method: 'GET',
      path: collectionPath(tenant, collection, 'queries'),
      query: { limit, offset, cursor, q, mode, actor },
      ...call,
    });
  }

  each(tenant: string, collection: string, options?: PageOptions): AsyncGenerator<QuerySummary, void> {
    return this.transport.each(
      (page) => this.list(tenant, collection, page),
      ({ queries }) => queries,
      { limit: QUERIES_PAGE_LENGTH, ...options },
    );
  }

  get(tenant: string, collection: string, queryId: string, call?: CallOptions): Promise<Answered<QueryAnswer>> {
    return this.transport.get(collectionPath(tenant, collection, 'queries', queryId), call);
  }

  /** Repeats a logged search on today's documents; the log gets a new entry. */
  replay(tenant: string, collection: string, queryId: string, call?: CallOptions): Promise<Answered<ReplayAnswer>> {
    return this.transport.post(collectionPath(tenant, collection, 'queries', queryId, 'replay'), undefined, call);
  }
}

/** Reindex jobs and rollback, as `client.reindex`. `pause`, `resume` and `listAll` require the admin key. */
class ReindexCalls {
  constructor(private readonly transport: Transport) {}

  /** Starts a job. Resolves when the job exists, not when it is complete. */
  start(tenant: string, collection: string, body: ReindexBody, call?: CallOptions): Promise<Answered<ReindexJob>> {
    return this.transport.post(collectionPath(tenant, collection, 'reindex'), body, call);
  }

  list(tenant: string, collection: string, call?: CallOptions): Promise<Answered<ReindexJobList>> {
    return this.transport.get(collectionPath(tenant, collection, 'reindex'), call);
  }

  /** The jobs of all tenants and collections, including deleted ones. Requires the admin key. */
  listAll(call?: CallOptions): Promise<Answered<ReindexJobList>> {
    return this.transport.get(['v1', 'admin', 'reindex'], call);
  }

  get(tenant: string, collection: string, jobId: string, call?: CallOptions): Promise<Answered<ReindexJob>> {
    return this.transport.get(collectionPath(tenant, collection, 'reindex', jobId), call);
  }

  cancel(tenant: string, collection: string, jobId: string, call?: CallOptions): Promise<Answered<ReindexJob>> {
    return this.transport.delete(collectionPath(tenant, collection, 'reindex', jobId), call);
  }

  pause(jobId: string, call?: CallOptions): Promise<Answered<ReindexJob>> {
    return this.transport.post(['v1', 'admin', 'reindex', jobId, 'pause'], undefined, call);
  }

  resume(jobId: string, call?: CallOptions): Promise<Answered<ReindexJob>> {
    return this.transport.post(['v1', 'admin', 'reindex', jobId, 'resume'], undefined, call);
  }

  /** Switches back to the previous vector space, while it is kept. */
  rollBack(tenant: string, collection: string, call?: CallOptions): Promise<Answered<RolledBack>> {
    return this.transport.post(collectionPath(tenant, collection, 'rollback'), undefined, call);
  }
}

interface DeleteTenantOptions extends CallOptions {
  /** Whether to delete the tenant's collections too. Without it, a tenant with collections is not deleted. */
  force?: boolean;
}

/** Calls that require the admin key, as `client.admin`. */
class AdminCalls {
  constructor(private readonly transport: Transport) {}

  listTenants(call?: CallOptions): Promise<Answered<TenantList>> {
    return this.transport.get(adminPath('tenants'), call);
  }

  cluster(call?: CallOptions): Promise<Answered<ClusterState>> {
    return this.transport.get(adminPath('cluster'), call);
  }

  /** Creates a tenant. The answer has its first key, which is returned only this once. */
  createTenant(body: CreateTenantBody, call?: CallOptions): Promise<Answered<CreatedTenant>> {
    return this.transport.post(adminPath('tenants'), body, call);
  }

  getTenant(tenant: string, call?: CallOptions): Promise<Answered<TenantProfile>> {
    return this.transport.get(adminPath('tenants', tenant), call);
  }

  /** Changes a tenant. Absent fields keep their values. */
  updateTenant(tenant: string, body: UpdateTenantBody, call?: CallOptions): Promise<Answered<TenantProfile>> {
    return this.transport.patch(adminPath('tenants', tenant), body, call);
  }

  deleteTenant(tenant: string, { force, ...call }: DeleteTenantOptions = {}): Promise<Answered<DeletedTenant>> {
    return this.transport.json({ method: 'DELETE', path: adminPath('tenants', tenant), query: { force }, ...call });
  }

  listKeys(tenant: string, call?: CallOptions): Promise<Answered<KeyList>> {
    return this.transport.get(adminPath('tenants', tenant, 'keys'), call);
  }

  /** Creates a key. It is returned only this once. */
  createKey(tenant: string, body: CreateKeyBody = {}, call?: CallOptions): Promise<Answered<CreatedKey>> {
    return this.transport.post(adminPath('tenants', tenant, 'keys'), body, call);
  }

  revokeKey(tenant: string, keyId: string, call?: CallOptions): Promise<Answered<RevokedKey>> {
    return this.transport.delete(adminPath('tenants', tenant, 'keys', keyId), call);
  }

  moveCollection(
    tenant: string,
    name: string,
    newName: string,
    call?: CallOptions,
  ): Promise<Answered<MovedCollection>> {
    return this.transport.post(adminPath('collections', tenant, name, 'move'), { new_name: newName }, call);
  }

  getQuery(queryId: string, call?: CallOptions): Promise<Answered<QueryAnswer>> {
    return this.transport.get(adminPath('queries', queryId), call);
  }

  replayQuery(queryId: string, call?: CallOptions): Promise<Answered<ReplayAnswer>> {
    return this.transport.post(adminPath('queries', queryId, 'replay'), undefined, call);
  }

  listEmbedders(call?: CallOptions): Promise<Answered<EmbedderInventory>> {
    return this.transport.get(adminPath('embedders'), call);
  }

  resetMetrics(call?: CallOptions): Promise<Answered<MetricsReset>> {
    return this.transport.delete(adminPath('metrics'), call);
  }
}

const adminPath = (...rest: string[]): string[] => ['v1', 'admin', ...rest];
