// The pool of embed workers: threads that run embedders and rerankers, in one group per role (queries, documents,
// remote), with one request queue per model for queries, documents and rerank pairs. Queries of one turn of the event
// loop share a message; tenants are served in turn. Runs on the main thread.
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError, type Result, abandoned } from '../api/errors.js';
import type { Log } from '../base/log.js';
import { type EndpointCounts, EndpointMeter } from '../base/meters.js';
import type { CancelSignal } from '../base/signals.js';
import type { EmbedThreads, EmbedderSpec, RerankerSpec } from '../embedding/embedder-spec.js';
import type {
  DocumentTexts,
  EmbedAnswer,
  EmbedDocuments,
  EmbedRequest,
  EmbedRole,
  EmbedWorkerStart,
  EmbeddedDocuments,
  QueryText,
  QueryVectors,
  RerankScores,
  RerankTexts,
} from '../embedding/messages.js';
import type { PoolMetrics, QueueMetrics } from './pool-metrics.js';
import { type PendingRequest, REQUESTS_WAITING_MAX, RequestQueue } from './request-queue.js';
import { WorkerPool, taskValue } from './worker-pool.js';

/**
 * Bytes of documents that are embedded for one tenant before the next one is served: some milliseconds of work for the
 * built-in embedder.
 */
const DOCUMENTS_QUANTUM_BYTES = 64 * 1024;

interface Traffic {
  /** Queries per message. */
  queriesMax: number;
  /** Messages in flight per worker, of queries and of documents. */
  queryMessagesMax: number;
  documentMessagesMax: number;
}

/**
 * Message sizes, and limits of messages in flight. The limits are low because messages at a worker are served in the
 * order of arrival, without fairness. A local model takes milliseconds per query and joins the texts of the messages
 * that have arrived. The worker of an endpoint joins the texts of all messages; a text that the endpoint rejects fails
 * only its own message.
 */
const TRAFFIC: Readonly<Record<EmbedderSpec['type'], Traffic>> = {
  builtin: { queriesMax: 32, queryMessagesMax: 2, documentMessagesMax: 2 },
  onnx: { queriesMax: 4, queryMessagesMax: 2, documentMessagesMax: 8 },
  openai: { queriesMax: 1, queryMessagesMax: 256, documentMessagesMax: 64 },
};
const RERANK_MESSAGES_MAX: Readonly<Record<RerankerSpec['type'], number>> = { onnx: 2, endpoint: 64 };

type PairsRequest = Omit<RerankTexts, 'kind'>;

/** Documents to embed, and the signal that cancels them. */
interface DocumentsRequest extends DocumentTexts {
  embedder: string;
  signal: AbortSignal | undefined;
}

type Run = <R extends EmbedRequest>(request: R, moved: ArrayBuffer[]) => Promise<EmbedAnswer<R>>;

function queriesQueue(
  { key, type }: EmbedderSpec,
  threads: number,
  run: Run,
  metrics?: QueueMetrics,
): RequestQueue<QueryText, Float32Array> {
  const { queriesMax, queryMessagesMax } = TRAFFIC[type];
  return new RequestQueue(
    {
      requestsMax: queriesMax,
      messagesInFlightMax: threads * queryMessagesMax,
      waitingMax: REQUESTS_WAITING_MAX,
      metrics,
    },
    (batch) => embedQueries(key, batch, run),
  );
}

function documentsQueue(
  { type }: EmbedderSpec,
  threads: number,
  run: Run,
  metrics?: QueueMetrics,
): RequestQueue<DocumentsRequest, EmbeddedDocuments> {
  return new RequestQueue(
    {
      requestsMax: 1,
      messagesInFlightMax: threads * TRAFFIC[type].documentMessagesMax,
      waitingMax: REQUESTS_WAITING_MAX,
      costOf: ({ documents }) => documents.byteLength,
      quantum: DOCUMENTS_QUANTUM_BYTES,
      metrics,
    },
    ([pending]) => alone(pending, (request) => embedDocuments(request, run)),
  );
}

function rerankQueue(
  { type }: RerankerSpec,
  threads: number,
  run: Run,
  metrics?: QueueMetrics,
): RequestQueue<PairsRequest, Float32Array> {
  return new RequestQueue(
    {
      requestsMax: 1,
      messagesInFlightMax: threads * RERANK_MESSAGES_MAX[type],
      waitingMax: REQUESTS_WAITING_MAX,
      metrics,
    },
    ([pending]) => alone(pending, async (request) => (await run({ kind: 'rerank', ...request }, [])).scores),
  );
}

/** Runs the single request of a message. */
function alone<Q, A>(pending: PendingRequest<Q, A> | undefined, work: (request: Q) => Promise<A>): Promise<void> {
  const { request, resolve, reject } = pending as PendingRequest<Q, A>;
  return work(request).then(resolve, reject);
}

async function embedQueries(
  embedder: string,
  batch: readonly PendingRequest<QueryText, Float32Array>[],
  run: Run,
): Promise<void> {
  const traceparent = batch.find(({ request }) => request.traceparent !== undefined)?.request.traceparent;
  const texts = batch.map(({ request }) => request.text);
  try {
    const { vectors } = await run(
      { kind: 'queries', embedder, texts, ...(traceparent !== undefined && { traceparent }) },
      [],
    );
    const dim = vectors.length / batch.length;
    // The vectors are copied, because a view would keep the vectors of the whole message alive.
    batch.forEach(({ resolve }, i) => resolve(vectors.slice(i * dim, (i + 1) * dim)));
  } catch (error) {
    for (const { reject } of batch) reject(error);
  }
}

async function embedDocuments({ signal, ...request }: DocumentsRequest, run: Run): Promise<EmbeddedDocuments> {
  const cancelled = new Int32Array(new SharedArrayBuffer(4));
  const cancel = (): void => void Atomics.store(cancelled, 0, 1);
  signal?.addEventListener('abort', cancel, { once: true });
  try {
    const message: EmbedDocuments = { kind: 'documents', ...request, cancelled };
    const embedded = await run(message, buffersOf(request));
    // The worker has stopped halfway, so its answer is incomplete.
    if (signal?.aborted) throw abandoned();
    return embedded;
  } finally {
    signal?.removeEventListener('abort', cancel);
  }
}

const buffersOf = ({ documents, vectors, given }: DocumentTexts): ArrayBuffer[] =>
  [documents, vectors, given].flatMap((view) => (view?.buffer instanceof ArrayBuffer ? [view.buffer] : []));

/** A call of an embedder or reranker, for the metrics: one message to an embed worker and its answer. */
export interface EmbedCall {
  /** The key of the embedder or reranker instance. */
  key: string;
  kind: EmbedRequest['kind'];
  /** Number of texts that were embedded or scored; 0 if the call failed. */
  texts: number;
  /** Time until the answer, including the wait at the worker. */
  ms: number;
  /** Whether the call or any of its documents failed. */
  failed: boolean;
}

type EmbedObserver = (call: EmbedCall) => void;

/** Reports a call that starts now when it completes. */
function observed<R extends EmbedRequest>(request: R, answer: Promise<EmbedAnswer<R>>, observe: EmbedObserver): void {
  const startedAtMs = performance.now();
  const key = request.kind === 'rerank' ? request.reranker : request.embedder;
  const report = (texts: number, failed: boolean): void =>
    observe({ key, kind: request.kind, texts, ms: performance.now() - startedAtMs, failed });
  void answer.then(
    (made) =>
      report(
        'documents' in made ? made.texts : (request as Exclude<EmbedRequest, { kind: 'documents' }>).texts.length,
        'failures' in made,
      ),
    () => report(0, true),
  );
}

/** A run of a model takes a second at most; one that hangs must not keep the server from stopping. */
const RUNS_END_WITHIN_MS = 10_000;

interface ModelQueues {
  queries: RequestQueue<QueryText, Float32Array>;
  documents: RequestQueue<DocumentsRequest, EmbeddedDocuments>;
}

/** The threads of one role, with their request queues. */
class EmbedWorkers {
  private readonly workers: WorkerPool;
  private readonly models = new Map<string, ModelQueues>();
  private readonly rerankers = new Map<string, RequestQueue<PairsRequest, Float32Array>>();
  /** Answers in flight, and the shared words that cancel document requests. */
  private readonly inFlight = new Set<Promise<unknown>>();
  private readonly cancelWords = new Set<Int32Array>();
  private closing = false;

  constructor(
    threads: number,
    private readonly start: EmbedWorkerStart,
    private readonly log: Log,
    private readonly observe: EmbedObserver,
    metrics?: PoolMetrics,
  ) {
    this.workers = new WorkerPool({
      program: new URL('../../workers/embed/worker.js', import.meta.url),
      name: 'an embed worker',
      threads,
      workerData: start,
      log,
      // Query workers start at once, because readiness embeds a query.
      isLazy: start.role === 'documents',
    });
    metrics?.watch('embed', this.workers);
    const run = <R extends EmbedRequest>(request: R, moved: ArrayBuffer[]): Promise<EmbedAnswer<R>> =>
      this.run(request, moved);
    for (const spec of start.embedders)
      this.models.set(spec.key, {
        queries: queriesQueue(spec, threads, run, metrics?.queue('embed', 'queries')),
        documents: documentsQueue(spec, threads, run, metrics?.queue('embed', 'documents')),
      });
    for (const spec of start.rerankers)
      this.rerankers.set(spec.key, rerankQueue(spec, threads, run, metrics?.queue('embed', 'rerank')));
  }

  queuesOf(embedder: string): ModelQueues | undefined {
    return this.models.get(embedder);
  }

  rerankQueueOf(reranker: string): RequestQueue<PairsRequest, Float32Array> | undefined {
    return this.rerankers.get(reranker);
  }

  /** Terminates the threads, as a crash would. For tests. */
  async kill(): Promise<void> {
    await this.workers.kill();
  }

  /**
   * Rejects all waiting and running requests, and ends the threads between two runs of a model: terminating a thread
   * within a run of the model runtime would crash the process.
   */
  async close(): Promise<void> {
    this.closing = true;
    for (const word of this.cancelWords) Atomics.store(word, 0, 1);
    if (this.start.role !== 'remote')
      await Promise.race([Promise.allSettled(this.inFlight), sleep(RUNS_END_WITHIN_MS, undefined, { ref: false })]);
    await this.workers.end();
  }

  private async run<R extends EmbedRequest>(request: R, transferList: ArrayBuffer[]): Promise<EmbedAnswer<R>> {
    if (this.closing) throw new AppError('shutting_down');
    const answer = this.request(request, transferList);
    observed(request, answer, this.observe);
    this.inFlight.add(answer);
    if (request.kind === 'documents') this.cancelWords.add(request.cancelled);
    try {
      return await answer;
    } finally {
      this.inFlight.delete(answer);
      if (request.kind === 'documents') this.cancelWords.delete(request.cancelled);
    }
  }

  private async request<R extends EmbedRequest>(request: R, transferList: ArrayBuffer[]): Promise<EmbedAnswer<R>> {
    const task = this.workers.run(request, { transferList }) as Promise<
      Result<QueryVectors | EmbeddedDocuments | RerankScores>
    >;
    const refused = (error: unknown): Promise<never> =>
      Promise.reject(this.closing ? new AppError('shutting_down') : error);
    const answer = await taskValue(task.catch(refused), 'embedder_unavailable', this.log);
    // A cancelled answer is incomplete.
    if (this.closing) throw new AppError('shutting_down');
    return answer as EmbedAnswer<R>;
  }
}

interface EmbedPoolOptions {
  threads: EmbedThreads;
  embedders: readonly EmbedderSpec[];
  rerankers: readonly RerankerSpec[];
  /** See EmbedWorkerStart. */
  embedderFile?: Uint8Array | undefined;
  log: Log;
  /** Called with each call when it completes. */
  observe?: EmbedObserver;
  metrics?: PoolMetrics;
}

export class EmbedPool {
  private remote: { keys: string[]; counts: SharedArrayBuffer } | undefined;
  private readonly workers: Readonly<Record<EmbedRole, EmbedWorkers | undefined>>;

  constructor({
    threads,
    embedders,
    rerankers,
    embedderFile,
    log,
    observe = () => undefined,
    metrics,
  }: EmbedPoolOptions) {
    const workersOf = (role: EmbedRole, count: number, modelThreads: number): EmbedWorkers | undefined => {
      const isLocal = role !== 'remote';
      const own = embedders.filter(({ type }) => (type !== 'openai') === isLocal);
      const ownRerankers = rerankers.filter(({ type }) => role !== 'documents' && (type === 'onnx') === isLocal);
      if (own.length + ownRerankers.length === 0) return undefined;
      const counts = EndpointMeter.create(own.length + ownRerankers.length);
      if (role === 'remote') this.remote = { keys: [...own, ...ownRerankers].map(({ key }) => key), counts };
      return new EmbedWorkers(
        count,
        { role, embedders: own, rerankers: ownRerankers, modelThreads, embedderFile, meters: counts },
        log,
        observe,
        metrics,
      );
    };
    this.workers = {
      queries: workersOf('queries', threads.queries, threads.queryModel),
      documents: workersOf('documents', threads.documents, threads.documentModel),
      remote: workersOf('remote', 1, 1),
    };
  }

  /**
   * The vector of a query text. Rejects with AppError `embedder_unavailable` if the embedder does not answer or its
   * worker died, and `overloaded` if the queue is full. Aborting the signal removes a waiting request from the queue.
   */
  embedQuery(embedder: string, query: QueryText, tenant?: string, signal?: CancelSignal): Promise<Float32Array> {
    return this.queuesOf(embedder, 'queries').queries.request(query, tenant, signal);
  }

  /**
   * Vectors of all chunks that have a text and no vector. Rejects as `embedQuery` does if no document could be
   * embedded.
   */
  embedDocuments(
    embedder: string,
    texts: DocumentTexts,
    tenant?: string,
    signal?: AbortSignal,
  ): Promise<EmbeddedDocuments> {
    return this.queuesOf(embedder, 'documents').documents.request({ ...texts, embedder, signal }, tenant, signal);
  }

  /** A relevance score for each text. Rejects as `embedQuery` does. */
  rerank(request: PairsRequest, tenant?: string, signal?: CancelSignal): Promise<Float32Array> {
    const queue =
      this.workers.queries?.rerankQueueOf(request.reranker) ?? this.workers.remote?.rerankQueueOf(request.reranker);
    if (!queue) throw new Error(`there is no reranker ${request.reranker}`);
    return queue.request(request, tenant, signal);
  }

  /** Call counters of each endpoint. */
  endpoints(): (EndpointCounts & { key: string })[] {
    const { keys, counts } = this.remote ?? { keys: [], counts: EndpointMeter.create(0) };
    return keys.map((key, place) => ({ key, ...EndpointMeter.over(counts, place).read() }));
  }

  /** Terminates the threads, as a crash would. For tests. */
  async kill(): Promise<void> {
    await Promise.all(Object.values(this.workers).map(async (workers) => workers?.kill()));
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.workers).map(async (workers) => workers?.close()));
  }

  private queuesOf(embedder: string, role: 'queries' | 'documents'): ModelQueues {
    const queues = this.workers[role]?.queuesOf(embedder) ?? this.workers.remote?.queuesOf(embedder);
    if (!queues) throw new Error(`there is no embedder ${embedder}`);
    return queues;
  }
}
