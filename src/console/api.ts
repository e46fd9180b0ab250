// The endpoints that the console uses, one typed function each. A function takes a signal if a view may cancel the
// call.
import type { CollectionDetail, CollectionList, CreateBody, CreatedCollection } from '../api/collections.js';
import type { CommonFields } from '../api/common.js';
import type { CountAnswer, CountBody } from '../api/count.js';
import type {
  BatchAnswer,
  ChangedDocuments,
  ChunkList,
  DeletedDocument,
  DocumentList,
  IngestBody,
  Ingested,
  StoredDocument,
} from '../api/documents.js';
import type { Health, MetricsAnswer } from '../api/health.js';
import type {
  DeletedJudgementSet,
  JudgementSet,
  JudgementSetBody,
  JudgementSetList,
  StoredJudgementSet,
} from '../api/judgements.js';
import type { QueryAnswer, QueryList, ReplayAnswer } from '../api/queries.js';
import type { ReindexBody, ReindexJob, ReindexJobList, RolledBack } from '../api/reindex.js';
import type { CollectionsSearchAnswer, SearchAnswer, SearchBody } from '../api/search.js';
import type { VectorSample } from '../api/recall.js';
import type { RestoredDataset } from '../api/archives.js';
import type { BackupList, BegunBackup } from '../api/backups.js';
import type { ClusterState } from '../api/cluster.js';
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
import type { TenantEmbedderInventory } from '../api/embedders.js';
import { SheafUnreachable, errorOf } from '../client/errors.js';
import { type Query, encodePath, encodeQuery } from '../client/url.js';
import { apiKey, askForKey, breaks, judgeKey } from './state.js';

// One HTTP exchange with the server of this page, with the key of the session. Error answers become the client's
// SheafError. Addresses are relative to the page, so that a path before /ui is kept.

interface Exchange {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly query?: Query;
  /** Sent as JSON. */
  readonly body?: object;
  readonly signal?: AbortSignal | undefined;
}

/** `round_ms` is the time of the exchange as measured by the page. */
export type Told<T> = T & CommonFields & { readonly round_ms: number };

export const addressOf = (path: readonly string[], query?: Query): string =>
  new URL(`.${encodePath(path)}${encodeQuery(query)}`, document.baseURI).href;

export const keyHeaders = (key: string): Record<string, string> => (key ? { authorization: `Bearer ${key}` } : {});

/** Rejects with SheafError, SheafUnreachable, or an AbortError. */
async function call<T>(path: readonly string[], { query, ...exchange }: Exchange = {}): Promise<Told<T>> {
  const startedAtMs = performance.now();
  const response = await open(path, { query, ...exchange });
  const answer = (await response.json()) as T & CommonFields;
  return { ...answer, round_ms: performance.now() - startedAtMs };
}

async function callText(path: readonly string[], signal?: AbortSignal): Promise<string> {
  return (await open(path, { signal })).text();
}

/** A successful answer whose body is still to be read. */
export async function open(
  path: readonly string[],
  { method = 'GET', query, body, signal }: Exchange,
  headers: Record<string, string> = {},
): Promise<Response> {
  const key = apiKey.value;
  const init: RequestInit = {
    method,
    headers: { ...keyHeaders(key), ...headers, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  };
  const response = await fetch(addressOf(path, query), init).catch((error: unknown) => {
    signal?.throwIfAborted();
    breaks.value += 1;
    throw new SheafUnreachable(location.origin, error instanceof Error ? error.message : String(error));
  });
  judge(response, key);
  if (response.ok) return response;
  throw errorOf(response, await response.text());
}

/** Learns from a status whether the key is valid. A public page says nothing about it. */
function judge({ status, url }: Response, key: string): void {
  if (status === 401) judgeKey(key, false);
  else if (key && (status < 300 || status === 403) && new URL(url).pathname.includes('/v1/')) judgeKey(key, true);
  if (status === 401) askForKey(key);
}

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
export const metrics = (hasHistory: boolean, signal?: AbortSignal) =>
  call<MetricsAnswer>(['health', 'metrics'], { query: { history: hasHistory || undefined }, signal });
export const whoAmI = (signal?: AbortSignal) => call<WhoAmI>(['v1', 'whoami'], { signal });
export const listTenants = (signal?: AbortSignal) => call<TenantList>(['v1', 'admin', 'tenants'], { signal });
export const cluster = (signal?: AbortSignal) => call<ClusterState>(['v1', 'admin', 'cluster'], { signal });

const BACKUPS = ['v1', 'admin', 'backups'];
export const listBackups = (signal?: AbortSignal) => call<BackupList>(BACKUPS, { signal });
export const makeBackup = () => call<BegunBackup>(BACKUPS, { method: 'POST' });
/** `isDryRun`: only verifies it. */
export const restoreBackup = (name: string, isDryRun: boolean) =>
  call<RestoredDataset>([...BACKUPS, name, 'restore'], { method: 'POST', query: { dry_run: isDryRun } });

const tenantPath = (tenant: string, ...rest: string[]): string[] => ['v1', 'admin', 'tenants', tenant, ...rest];
export const createTenant = (body: CreateTenantBody) =>
  call<CreatedTenant>(['v1', 'admin', 'tenants'], { method: 'POST', body });
export const getTenant = (tenant: string, signal?: AbortSignal) => call<TenantProfile>(tenantPath(tenant), { signal });
export const updateTenant = (tenant: string, body: UpdateTenantBody) =>
  call<TenantProfile>(tenantPath(tenant), { method: 'PATCH', body });
/** `force`: with its collections. */
export const deleteTenant = (tenant: string, force: boolean) =>
  call<DeletedTenant>(tenantPath(tenant), { method: 'DELETE', query: { force } });
export const listKeys = (tenant: string, signal?: AbortSignal) => call<KeyList>(tenantPath(tenant, 'keys'), { signal });
export const createKey = (tenant: string, body: CreateKeyBody) =>
  call<CreatedKey>(tenantPath(tenant, 'keys'), { method: 'POST', body });
export const revokeKey = (tenant: string, id: string) =>
  call<RevokedKey>(tenantPath(tenant, 'keys', id), { method: 'DELETE' });

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

/** With their metadata. */
export const listDocuments = (at: At, limit: number, cursor?: string, signal?: AbortSignal) =>
  call<DocumentList>(pathOf(at, 'documents'), { query: { limit, cursor, metadata: true }, signal });
export const getDocument = (at: At, docid: string, signal?: AbortSignal) =>
  call<StoredDocument>(pathOf(at, 'documents', docid), { signal });
export const deleteDocument = (at: At, docid: string) =>
  call<DeletedDocument>(pathOf(at, 'documents', docid), { method: 'DELETE' });
export const deleteDocuments = (at: At, docids: readonly string[]) =>
  call<ChangedDocuments>(pathOf(at, 'documents:delete'), { method: 'POST', body: { docids } });
export const listChunks = (at: At, docid: string, limit: number, cursor?: string, signal?: AbortSignal) =>
  call<ChunkList>(pathOf(at, 'documents', docid, 'chunks'), { query: { limit, cursor }, signal });
export const chunkText = (at: At, rid: string, signal?: AbortSignal) =>
  callText(pathOf(at, 'chunks', rid, 'content'), signal);
export const ingest = (at: At, body: IngestBody) => call<Ingested>(pathOf(at, 'documents'), { method: 'POST', body });
export const ingestBatch = (at: At, documents: IngestBody[]) =>
  call<BatchAnswer>(pathOf(at, 'documents:batch'), { method: 'POST', body: { documents } });

export const search = (at: At, body: SearchBody, signal?: AbortSignal): Promise<Told<SearchAnswer>> =>
  call<SearchAnswer>(pathOf(at, 'search'), { method: 'POST', body, signal });
/** Searches the collection and others of its tenant. */
export const countMatches = (at: At, body: CountBody, signal?: AbortSignal) =>
  call<CountAnswer>(pathOf(at, 'count'), { method: 'POST', body, signal });
export const searchCollections = (at: At, others: readonly string[], body: SearchBody, signal?: AbortSignal) =>
  call<CollectionsSearchAnswer>(['v1', 'search', at.tenant], {
    method: 'POST',
    body: { ...body, collections: [at.collection, ...others] },
    signal,
  });
export const listJudgementSets = (at: At, signal?: AbortSignal) =>
  call<JudgementSetList>(pathOf(at, 'judgements'), { signal });
export const getJudgementSet = (at: At, set: string, signal?: AbortSignal) =>
  call<JudgementSet>(pathOf(at, 'judgements', set), { signal });
export const putJudgementSet = (at: At, set: string, body: JudgementSetBody) =>
  call<StoredJudgementSet>(pathOf(at, 'judgements', set), { method: 'PUT', body });
export const deleteJudgementSet = (at: At, set: string) =>
  call<DeletedJudgementSet>(pathOf(at, 'judgements', set), { method: 'DELETE' });
/** With the metadata of each chunk. */
export const sampleVectors = (at: At, sample: number, signal?: AbortSignal) =>
  call<VectorSample>(pathOf(at, 'vectors'), { query: { sample, metadata: true }, signal });

export const listQueries = (
  at: At,
  {
    signal,
    ...query
  }: { limit: number; cursor?: string; q?: string; mode?: string; actor?: string; signal?: AbortSignal },
) => call<QueryList>(pathOf(at, 'queries'), { query, signal });
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
