// A typed client of the server's interface, one method an endpoint: what `sheaf/client` exports. Used by the command
// line, the load programs and other people's programs. Every method rejects with SheafError (the server refused or
// failed), SheafUnreachable (no answer), or an AbortError once its signal is aborted.
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
} from '../contract/api/collections.js';
import type { Health, Liveness, MetricsAnswer, Readiness } from '../contract/api/health.js';
import type { RecallAnswer, RecallBody } from '../contract/api/recall.js';
import type { SearchAnswer, SearchBody, SearchQuery } from '../contract/api/search.js';
import type { TenantEmbedderInventory } from '../contract/api/tenants.js';
import { AdminCalls } from './admin.js';
import { ArchiveCalls } from './archives.js';
import { Calls, collectionPath, type Answered, type PageOptions } from './calls.js';
import { DocumentCalls } from './documents.js';
import { QueryCalls } from './queries.js';
import { ReindexCalls } from './reindex.js';
import type { CallOptions, TransportOptions } from './transport.js';

export { SheafConflict, SheafError, SheafNotFound, SheafUnavailable, SheafUnreachable } from './errors.js';
export type { ArchiveOptions, Download, RestoreOptions } from './archives.js';
export type { Answered, PageOptions } from './calls.js';
export type { CsvOptions, IngestFile } from './documents.js';
export type { DocumentSource } from './ingest-stream.js';
export type { CallOptions, TransportOptions } from './transport.js';
export type * from '../contract/api/archives.js';
export type * from '../contract/api/collections.js';
export type * from '../contract/api/documents.js';
export type * from '../contract/api/health.js';
export type * from '../contract/api/queries.js';
export type * from '../contract/api/recall.js';
export type * from '../contract/api/reindex.js';
export type * from '../contract/api/search.js';
export type * from '../contract/api/tenants.js';

export class SheafClient extends DocumentCalls {
  readonly queries: QueryCalls;
  readonly admin: AdminCalls;
  readonly archives: ArchiveCalls;
  readonly reindex: ReindexCalls;

  /** Throws TypeError when `options.url` is no http address, or `options.key` no key. Opens no connection. */
  constructor(options: TransportOptions) {
    super(new Calls(options));
    this.queries = new QueryCalls(this.calls);
    this.admin = new AdminCalls(this.calls);
    this.archives = new ArchiveCalls(this.calls);
    this.reindex = new ReindexCalls(this.calls);
  }

  health(call?: CallOptions): Promise<Answered<Health>> {
    return this.calls.get(['health'], { retriesMax: 0, ...call });
  }

  live(call?: CallOptions): Promise<Answered<Liveness>> {
    return this.calls.get(['health', 'live'], { retriesMax: 0, ...call });
  }

  /** Rejects with status 503 until storage and embeddings are usable. */
  ready(call?: CallOptions): Promise<Answered<Readiness>> {
    return this.calls.get(['health', 'ready'], { retriesMax: 0, ...call });
  }

  metrics(call?: CallOptions): Promise<Answered<MetricsAnswer>> {
    return this.calls.get(['health', 'metrics'], call);
  }

  /** In Prometheus exposition text. */
  metricsText(call?: CallOptions): Promise<string> {
    return this.calls.text({ method: 'GET', path: ['metrics'], ...call });
  }

  createCollection(
    tenant: string,
    name: string,
    options?: CreateBody,
    call?: CallOptions,
  ): Promise<Answered<CreatedCollection>> {
    return this.calls.post(collectionPath(tenant, name), options, call);
  }

  /** All collections by name, or a page of them. */
  listCollections(tenant: string, options?: PageOptions): Promise<Answered<CollectionList>> {
    return this.calls.page(['v1', 'collections', tenant], options);
  }

  eachCollection(tenant: string, options?: PageOptions): AsyncGenerator<CollectionSummary, void> {
    return this.calls.each(
      (page) => this.listCollections(tenant, page),
      ({ collections }) => collections,
      options,
    );
  }

  collectionDetail(tenant: string, name: string, call?: CallOptions): Promise<Answered<CollectionDetail>> {
    return this.calls.get(collectionPath(tenant, name, 'detail'), call);
  }

  updateCollection(
    tenant: string,
    name: string,
    body: UpdateBody,
    call?: CallOptions,
  ): Promise<Answered<UpdatedCollection>> {
    return this.calls.patch(collectionPath(tenant, name), body, call);
  }

  moveCollection(
    tenant: string,
    name: string,
    newName: string,
    call?: CallOptions,
  ): Promise<Answered<MovedCollection>> {
    return this.calls.post(collectionPath(tenant, name, 'move'), { new_name: newName }, call);
  }

  deleteCollection(tenant: string, name: string, call?: CallOptions): Promise<Answered<DeletedCollection>> {
    return this.calls.delete(collectionPath(tenant, name), call);
  }

  search(tenant: string, collection: string, body: SearchBody, call?: CallOptions): Promise<Answered<SearchAnswer>> {
    return this.calls.post(collectionPath(tenant, collection, 'search'), body, call);
  }

  /** By query string, which a cache can keep. */
  searchByQuery(
    tenant: string,
    collection: string,
    query: SearchQuery,
    call?: CallOptions,
  ): Promise<Answered<SearchAnswer>> {
    return this.calls.json({
      method: 'GET',
      path: collectionPath(tenant, collection, 'search'),
      query: { ...query },
      ...call,
    });
  }

  /** Empty while the server's shared scope is switched off. */
  searchShared(body: SearchBody & { q: string }, call?: CallOptions): Promise<Answered<SearchAnswer>> {
    return this.calls.post(['v1', 'search'], body, call);
  }

  searchSharedByQuery(query: SearchQuery, call?: CallOptions): Promise<Answered<SearchAnswer>> {
    return this.calls.json({ method: 'GET', path: ['v1', 'search'], query: { ...query }, ...call });
  }

  /** Compares searches of the collection with exact ones; takes up to ten seconds. */
  recall(tenant: string, collection: string, body?: RecallBody, call?: CallOptions): Promise<Answered<RecallAnswer>> {
    return this.calls.post(collectionPath(tenant, collection, 'recall'), body, call);
  }

  listEmbedders(tenant: string, call?: CallOptions): Promise<Answered<TenantEmbedderInventory>> {
    return this.calls.get(['v1', 'embedders', tenant], call);
  }
}
