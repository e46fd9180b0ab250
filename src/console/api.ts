// The endpoints that the console uses, typed by the contract. A function an endpoint; the views call them.
// Each takes a signal where a view may lose interest.
import type {
  CollectionDetail,
  CollectionList,
  CreateBody,
  CreatedCollection,
} from '../../contract/api/collections.js';
import type {
  BatchAnswer,
  ChunkList,
  DeletedDocument,
  DocumentList,
  IngestBody,
  Ingested,
  StoredDocument,
} from '../../contract/api/documents.js';
import type { Health, MetricsAnswer } from '../../contract/api/health.js';
import type { QueryAnswer, QueryList, ReplayAnswer } from '../../contract/api/queries.js';
import type { ReindexBody, ReindexJob, ReindexJobList, RolledBack } from '../../contract/api/reindex.js';
import type { SearchAnswer, SearchBody } from '../../contract/api/search.js';
import type { TenantEmbedderInventory, TenantList } from '../../contract/api/tenants.js';
import type { VectorSample } from '../../contract/api/vectors.js';
import { call, callText, type Told } from './call.js';

/** A collection by tenant and name. */
export interface At {
  readonly tenant: string;
  readonly collection: string;
}

export const pathOf = ({ tenant, collection }: At, ...rest: string[]): string[] => [
  'v1',
  'collections',
  tenant,
  collection,
  ...rest,
];

export const health = (signal?: AbortSignal) => call<Health>(['health'], { signal });
export const metrics = (signal?: AbortSignal) => call<MetricsAnswer>(['health', 'metrics'], { signal });
export const listTenants = (signal?: AbortSignal) => call<TenantList>(['v1', 'admin', 'tenants'], { signal });
export const listEmbedders = (tenant: string, signal?: AbortSignal) =>
  call<TenantEmbedderInventory>(['v1', 'embedders', tenant], { signal });

export const listCollections = (tenant: string, signal?: AbortSignal) =>
  call<CollectionList>(['v1', 'collections', tenant], { signal });
export const createCollection = (at: At, body: CreateBody) =>
  call<CreatedCollection>(pathOf(at), { method: 'POST', body });
export const collectionDetail = (at: At, signal?: AbortSignal) =>
  call<CollectionDetail>(pathOf(at, 'detail'), { signal });
export const renameCollection = (at: At, displayName: string) =>
  call<object>(pathOf(at), { method: 'PATCH', body: { display_name: displayName } });
export const moveCollection = (at: At, newName: string) =>
  call<object>(pathOf(at, 'move'), { method: 'POST', body: { new_name: newName } });
export const deleteCollection = (at: At) => call<object>(pathOf(at), { method: 'DELETE' });

export const listDocuments = (at: At, limit: number, cursor?: string, signal?: AbortSignal) =>
  call<DocumentList>(pathOf(at, 'documents'), { query: { limit, cursor }, signal });
export const getDocument = (at: At, docid: string, signal?: AbortSignal) =>
  call<StoredDocument>(pathOf(at, 'documents', docid), { signal });
export const deleteDocument = (at: At, docid: string) =>
  call<DeletedDocument>(pathOf(at, 'documents', docid), { method: 'DELETE' });
export const listChunks = (at: At, docid: string, limit: number, cursor?: string, signal?: AbortSignal) =>
  call<ChunkList>(pathOf(at, 'documents', docid, 'chunks'), { query: { limit, cursor }, signal });
export const chunkText = (at: At, rid: string, signal?: AbortSignal) =>
  callText(pathOf(at, 'chunks', rid, 'content'), signal);
export const ingest = (at: At, body: IngestBody) => call<Ingested>(pathOf(at, 'documents'), { method: 'POST', body });
export const ingestBatch = (at: At, documents: IngestBody[]) =>
  call<BatchAnswer>(pathOf(at, 'documents:batch'), { method: 'POST', body: { documents } });

export const search = (at: At, body: SearchBody, signal?: AbortSignal): Promise<Told<SearchAnswer>> =>
  call<SearchAnswer>(pathOf(at, 'search'), { method: 'POST', body, signal });
export const sampleVectors = (at: At, sample: number, signal?: AbortSignal) =>
  call<VectorSample>(pathOf(at, 'vectors'), { query: { sample }, signal });

export const listQueries = (at: At, limit: number, cursor?: string, signal?: AbortSignal) =>
  call<QueryList>(pathOf(at, 'queries'), { query: { limit, cursor }, signal });
export const getQuery = (at: At, id: string, signal?: AbortSignal) =>
  call<QueryAnswer>(pathOf(at, 'queries', id), { signal });
export const replayQuery = (at: At, id: string) =>
  call<ReplayAnswer>(pathOf(at, 'queries', id, 'replay'), { method: 'POST' });

export const listJobs = (at: At, signal?: AbortSignal) => call<ReindexJobList>(pathOf(at, 'reindex'), { signal });
export const startReindex = (at: At, body: ReindexBody) =>
  call<ReindexJob>(pathOf(at, 'reindex'), { method: 'POST', body });
export const cancelJob = (at: At, id: string) => call<ReindexJob>(pathOf(at, 'reindex', id), { method: 'DELETE' });
export const steerJob = (id: string, change: 'pause' | 'resume') =>
  call<ReindexJob>(['v1', 'admin', 'reindex', id, change], { method: 'POST' });
export const rollBack = (at: At) => call<RolledBack>(pathOf(at, 'rollback'), { method: 'POST' });
