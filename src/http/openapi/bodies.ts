// The types of all bodies, by the names they have in the OpenAPI document: a new endpoint adds its types here, a line
// each. typia turns them into JSON schemas when the server is compiled. Read by schemas.ts and, for the types of the
// examples, by operation.ts. Pure.
import typia from 'typia';
import type { RestoredCollection, RestoredDataset } from '../../contract/api/archives.js';
import type {
  CollectionDetail,
  CollectionList,
  CreateBody,
  CreatedCollection,
  DeletedCollection,
  MoveBody,
  MovedCollection,
  UpdateBody,
  UpdatedCollection,
} from '../../contract/api/collections.js';
import type { CommonFields, ErrorEnvelope } from '../../contract/api/common.js';
import type {
  BatchAnswer,
  BatchBody,
  ChunkList,
  DeletedDocument,
  DocumentList,
  IngestBody,
  Ingested,
  StoredChunk,
  StoredDocument,
} from '../../contract/api/documents.js';
import type { Health, Liveness, MetricsAnswer, MetricsReset, Readiness } from '../../contract/api/health.js';
import type { QueryAnswer, QueryList, ReplayAnswer } from '../../contract/api/queries.js';
import type { RecallAnswer, RecallBody } from '../../contract/api/recall.js';
import type { ReindexBody, ReindexJob, ReindexJobList, RolledBack } from '../../contract/api/reindex.js';
import type { SearchAnswer, SearchBody } from '../../contract/api/search.js';
import type { VectorSample } from '../../contract/api/vectors.js';
import type {
  CreatedKey,
  CreatedTenant,
  CreateKeyBody,
  CreateTenantBody,
  DeletedTenant,
  KeyList,
  RevokedKey,
  TenantProfile,
  UpdateTenantBody,
} from '../../contract/api/tenants.js';
import type { EmbedderInventory, TenantEmbedderInventory, TenantList } from '../../contract/api/tenants.js';

/** JSON bodies of requests: none of them takes other fields than its own. */
export interface Requests {
  CreateBody: CreateBody;
  UpdateBody: UpdateBody;
  MoveBody: MoveBody;
  IngestBody: IngestBody;
  BatchBody: BatchBody;
  SearchBody: SearchBody;
  RecallBody: RecallBody;
  ReindexBody: ReindexBody;
  CreateTenantBody: CreateTenantBody;
  UpdateTenantBody: UpdateTenantBody;
  CreateKeyBody: CreateKeyBody;
}

/** JSON bodies of successes, without the common fields, which schemas.ts adds. */
export interface Answers {
  Health: Health;
  Liveness: Liveness;
  Readiness: Readiness;
  MetricsAnswer: MetricsAnswer;
  MetricsReset: MetricsReset;
  CollectionList: CollectionList;
  CreatedCollection: CreatedCollection;
  CollectionDetail: CollectionDetail;
  UpdatedCollection: UpdatedCollection;
  MovedCollection: MovedCollection;
  DeletedCollection: DeletedCollection;
  RestoredCollection: RestoredCollection;
  RestoredDataset: RestoredDataset;
  DocumentList: DocumentList;
  Ingested: Ingested;
  StoredDocument: StoredDocument;
  DeletedDocument: DeletedDocument;
  ChunkList: ChunkList;
  StoredChunk: StoredChunk;
  BatchAnswer: BatchAnswer;
  SearchAnswer: SearchAnswer;
  RecallAnswer: RecallAnswer;
  VectorSample: VectorSample;
  QueryList: QueryList;
  QueryAnswer: QueryAnswer;
  ReplayAnswer: ReplayAnswer;
  ReindexJob: ReindexJob;
  ReindexJobList: ReindexJobList;
  RolledBack: RolledBack;
  TenantList: TenantList;
  TenantProfile: TenantProfile;
  CreatedTenant: CreatedTenant;
  DeletedTenant: DeletedTenant;
  KeyList: KeyList;
  CreatedKey: CreatedKey;
  RevokedKey: RevokedKey;
  EmbedderInventory: EmbedderInventory;
  TenantEmbedderInventory: TenantEmbedderInventory;
}

/** What every operation shares. */
interface Shared {
  CommonFields: CommonFields;
  ErrorEnvelope: ErrorEnvelope;
}

/** As typia words them: each type above, and those they are made of, by name. */
export const TYPE_SCHEMAS = typia.json.schemas<[Requests, Answers, Shared], '3.1'>().components.schemas ?? {};
