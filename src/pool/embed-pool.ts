// The embed workers, in threads of their own, so that an embedding never delays a search in a shard. Queries and
// documents have workers apart, those of documents at a lower priority of the operating system: queries go ahead,
// whatever a model run takes. Front thread.
import type { Leaving } from '../base/departure.js';
import type { Log } from '../base/log.js';
import type { EmbedderSpec, RerankerSpec } from '../contract/embedder.js';
import { EndpointMeter, type EndpointCounts } from '../contract/endpoint-meters.js';
import type {
  DocumentTexts,
  EmbeddedDocuments,
  EmbedRole,
  QueryText,
  RerankTexts,
} from '../contract/embed-messages.js';
import { EmbedCrew } from './embed-crew.js';
import type { EmbedObserver } from './embed-observer.js';
import type { PoolMeters } from './pool-meters.js';

export interface EmbedThreads {
  queries: number;
  documents: number;
  /** Threads that one run of a model may use, for a query and for documents. */
  queryModel: number;
  documentModel: number;
}

export interface EmbedPoolOptions {
  threads: EmbedThreads;
  embedders: readonly EmbedderSpec[];
  rerankers: readonly RerankerSpec[];
  log: Log;
  /** Told of each call when it is over. */
  observe?: EmbedObserver;
  meters?: PoolMeters;
}

export class EmbedPool {
  private remote: { keys: string[]; counts: SharedArrayBuffer } | undefined;
  private readonly crews: Readonly<Record<EmbedRole, EmbedCrew | undefined>>;

  constructor({ threads, embedders, rerankers, log, observe = () => undefined, meters }: EmbedPoolOptions) {
    const crew = (role: EmbedRole, count: number, modelThreads: number): EmbedCrew | undefined => {
      const isLocal = role !== 'remote';
      const own = embedders.filter(({ type }) => (type !== 'openai') === isLocal);
      const ownRerankers = rerankers.filter(({ type }) => role !== 'documents' && (type === 'onnx') === isLocal);
      if (own.length + ownRerankers.length === 0) return undefined;
      const counts = EndpointMeter.create(own.length + ownRerankers.length);
      if (role === 'remote') this.remote = { keys: [...own, ...ownRerankers].map(({ key }) => key), counts };
      return new EmbedCrew(
        count,
        { role, embedders: own, rerankers: ownRerankers, modelThreads, meters: counts },
        log,
        observe,
        meters,
      );
    };
    this.crews = {
      queries: crew('queries', threads.queries, threads.queryModel),
      documents: crew('documents', threads.documents, threads.documentModel),
      remote: crew('remote', 1, 1),
    };
  }

  /**
   * The vector of a query text. Rejects with AppError `embedder_unavailable` when the embedder does not answer or its
   * worker died, `overloaded` when too many wait. One whose signal is aborted while it waits leaves the line.
   */
  embedQuery(embedder: string, query: QueryText, tenant?: string, signal?: Leaving): Promise<Float32Array> {
    return this.lanes(embedder, 'queries').queries.ask(query, tenant, signal);
  }

  /**
   * The vectors of all chunks that have a text and no vector yet. Rejects as above where no document could be embedded.
   */
  embedDocuments(
    embedder: string,
    texts: DocumentTexts,
    tenant?: string,
    signal?: AbortSignal,
  ): Promise<EmbeddedDocuments> {
    return this.lanes(embedder, 'documents').documents.ask({ ...texts, embedder, signal }, tenant, signal);
  }

  /** A score for each text, of how well it answers the query. Rejects as embedQuery does. */
  rerank(request: Omit<RerankTexts, 'kind'>, tenant?: string, signal?: Leaving): Promise<Float32Array> {
    const lane =
      this.crews.queries?.rerankLaneOf(request.reranker) ?? this.crews.remote?.rerankLaneOf(request.reranker);
    if (!lane) throw new Error(`there is no reranker ${request.reranker}`);
    return lane.ask(request, tenant, signal);
  }

  /** What the calls of each endpoint have come to. */
  endpoints(): (EndpointCounts & { key: string })[] {
    const { keys, counts } = this.remote ?? { keys: [], counts: EndpointMeter.create(0) };
    return keys.map((key, place) => ({ key, ...EndpointMeter.over(counts, place).read() }));
  }

  /** Ends the threads, as a crash would: for tests. */
  async kill(): Promise<void> {
    await Promise.all(Object.values(this.crews).map(async (crew) => crew?.kill()));
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.crews).map(async (crew) => crew?.close()));
  }

  private lanes(embedder: string, role: 'queries' | 'documents'): NonNullable<ReturnType<EmbedCrew['lanesOf']>> {
    const lanes = this.crews[role]?.lanesOf(embedder) ?? this.crews.remote?.lanesOf(embedder);
    if (!lanes) throw new Error(`there is no embedder ${embedder}`);
    return lanes;
  }
}
