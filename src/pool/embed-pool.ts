// The embed workers, in threads of their own, so that an embedding never delays a search in a shard. Queries and
// documents have workers apart, those of documents at a lower priority of the operating system: queries go ahead,
// whatever a model run takes. Front thread.
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError, type Outcome, abandoned } from '../api/errors.js';
import type { Log, LogNote } from '../base/log.js';
import { type EndpointCounts, EndpointMeter } from '../base/meters.js';
import type { Leaving } from '../base/signals.js';
import type { EmbedderSpec, RerankerSpec } from '../embedding/embedder-spec.js';
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
import type { LaneMeter, PoolMeters } from './pool-metrics.js';
import { type Ask, Lane } from './request-queue.js';
import { LateThreads, logNote, settled, workerOptions } from './worker-pool.js';

// How much of what travels to an embed worker in one message, and how many messages are under way: few, since what
// waits at a worker is first come, first served. Used by embed-crew.ts on the front thread.

const WAITING_MAX = 8192;
/**
 * Bytes of documents that a tenant may have embedded before the next one is served: some milliseconds of work for the
 * built-in embedder.
 */
const DOCUMENTS_QUANTUM_BYTES = 64 * 1024;

interface Traffic {
  /** Queries in a message. */
  queriesMax: number;
  /** Messages under way at each worker, of queries and of documents. */
  queryMessagesMax: number;
  documentMessagesMax: number;
}

/**
 * A model takes milliseconds for a query, and joins the texts of the messages that have reached it; an endpoint answers
 * when it does: its worker joins the texts of all messages, and a text that the endpoint refuses fails its own message
 * alone.
 */
const TRAFFIC: Readonly<Record<EmbedderSpec['type'], Traffic>> = {
  builtin: { queriesMax: 32, queryMessagesMax: 2, documentMessagesMax: 2 },
  onnx: { queriesMax: 4, queryMessagesMax: 2, documentMessagesMax: 8 },
  openai: { queriesMax: 1, queryMessagesMax: 256, documentMessagesMax: 64 },
};
const RERANK_MESSAGES_MAX: Readonly<Record<RerankerSpec['type'], number>> = { onnx: 2, endpoint: 64 };

/** Documents to embed, and the word that tells the worker when nobody waits for them any more. */
interface DocumentsAsk extends DocumentTexts {
  embedder: string;
  signal: AbortSignal | undefined;
}

type Run = <R extends EmbedRequest>(request: R, moved: ArrayBuffer[]) => Promise<EmbedAnswer<R>>;

function queriesLane(
  { key, type }: EmbedderSpec,
  threads: number,
  run: Run,
  meter?: LaneMeter,
): Lane<QueryText, Float32Array> {
  const { queriesMax, queryMessagesMax } = TRAFFIC[type];
  return new Lane(
    { requestsMax: queriesMax, messagesMax: threads * queryMessagesMax, waitingMax: WAITING_MAX, meter },
    (batch) =>
      settle(batch, async () => {
        const traceparent = batch.find(({ request }) => request.traceparent !== undefined)?.request.traceparent;
        const { vectors } = await run(
          {
            kind: 'queries',
            embedder: key,
            texts: batch.map(({ request }) => request.text),
            ...(traceparent !== undefined && { traceparent }),
          },
          [],
        );
        const dim = vectors.length / batch.length;
        // Copies: a view would travel on, and be kept, with the vectors of the whole message behind it.
        batch.forEach(({ resolve }, i) => resolve(vectors.slice(i * dim, (i + 1) * dim)));
      }),
  );
}

function documentsLane(
  { type }: EmbedderSpec,
  threads: number,
  run: Run,
  meter?: LaneMeter,
): Lane<DocumentsAsk, EmbeddedDocuments> {
  const options = {
    requestsMax: 1,
    messagesMax: threads * TRAFFIC[type].documentMessagesMax,
    waitingMax: WAITING_MAX,
    costOf: ({ documents }: DocumentsAsk) => documents.byteLength,
    quantum: DOCUMENTS_QUANTUM_BYTES,
    meter,
  };
  return new Lane(options, (batch) =>
    settle(batch, async () => {
      for (const { request, resolve } of batch) resolve(await embedDocuments(request, run));
    }),
  );
}

function rerankLane(
  { type }: RerankerSpec,
  threads: number,
  run: Run,
  meter?: LaneMeter,
): Lane<Omit<RerankTexts, 'kind'>, Float32Array> {
  return new Lane(
    { requestsMax: 1, messagesMax: threads * RERANK_MESSAGES_MAX[type], waitingMax: WAITING_MAX, meter },
    (batch) =>
      settle(batch, async () => {
        for (const { request, resolve } of batch) resolve((await run({ kind: 'rerank', ...request }, [])).scores);
      }),
  );
}

async function embedDocuments({ signal, ...request }: DocumentsAsk, run: Run): Promise<EmbeddedDocuments> {
  const cancelled = new Int32Array(new SharedArrayBuffer(4));
  const cancel = (): void => void Atomics.store(cancelled, 0, 1);
  signal?.addEventListener('abort', cancel, { once: true });
  try {
    const message: EmbedDocuments = { kind: 'documents', ...request, cancelled };
    const embedded = await run(message, buffersOf(request));
    // The worker has stopped in the middle: what it gave are no vectors.
    if (signal?.aborted) throw abandoned();
    return embedded;
  } finally {
    signal?.removeEventListener('abort', cancel);
  }
}

const buffersOf = ({ documents, vectors, given }: DocumentTexts): ArrayBuffer[] =>
  [documents, vectors, given].flatMap((view) => (view?.buffer instanceof ArrayBuffer ? [view.buffer] : []));

async function settle<Q, A>(batch: Ask<Q, A>[], work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    for (const { reject } of batch) reject(error);
  }
}

// What is told of each call of an embedder or a reranker, for the metrics: a call is one message to an embed worker and
// its answer. Used by embed-crew.ts, on the front thread.

export interface EmbedCall {
  /** Of the embedder, or of the reranker. */
  key: string;
  kind: EmbedRequest['kind'];
  /** How many texts it embedded or scored; 0 where it failed. */
  texts: number;
  /** Until the answer, what it waited for at the worker included. */
  ms: number;
  /** As a whole, or for any of its documents. */
  failed: boolean;
}

export type EmbedObserver = (call: EmbedCall) => void;

/** Tells of a call that begins now, when it is over. */
function observed<R extends EmbedRequest>(request: R, answer: Promise<EmbedAnswer<R>>, observe: EmbedObserver): void {
  const startedAtMs = performance.now();
  const key = request.kind === 'rerank' ? request.reranker : request.embedder;
  const tell = (texts: number, failed: boolean): void =>
    observe({ key, kind: request.kind, texts, ms: performance.now() - startedAtMs, failed });
  void answer.then(
    (made) =>
      tell(
        'documents' in made ? made.texts : (request as Exclude<EmbedRequest, { kind: 'documents' }>).texts.length,
        'failures' in made,
      ),
    () => tell(0, true),
  );
}

// The embed threads of one role, and what waits for them: a lane for the queries, the documents and the pairs of each
// model. Queries of one turn of the event loop travel together; tenants are served in turn. Used by embed-pool.ts on
// the front thread.

/** A run takes a second at most; one that hangs does not keep the server from stopping. */
const RUNS_END_WITHIN_MS = 10_000;

/** The lanes of one model. */
interface ModelLanes {
  queries: Lane<QueryText, Float32Array>;
  documents: Lane<DocumentsAsk, EmbeddedDocuments>;
}

class EmbedCrew {
  private readonly threads: LateThreads;
  private readonly models = new Map<string, ModelLanes>();
  private readonly rerankers = new Map<string, Lane<Omit<RerankTexts, 'kind'>, Float32Array>>();
  /** Answers that are awaited, and the words that cut those of documents short. */
  private readonly underway = new Set<Promise<unknown>>();
  private readonly cancelWords = new Set<Int32Array>();
  private closing = false;

  constructor(
    threads: number,
    private readonly start: EmbedWorkerStart,
    private readonly log: Log,
    private readonly observe: EmbedObserver,
    meters?: PoolMeters,
  ) {
    this.threads = new LateThreads(workerOptions('embed/worker.js', threads, start), (piscina) => {
      piscina.on('error', (error: Error) => log.error({ fault: error.stack }, 'an embed worker died'));
      piscina.on('message', (note: Partial<LogNote>) => logNote(log, note));
    });
    // Readiness asks whether an embedder answers a query.
    if (start.role !== 'documents') this.threads.begin();
    meters?.watch('embed', this.threads);
    const run = <R extends EmbedRequest>(request: R, moved: ArrayBuffer[]): Promise<EmbedAnswer<R>> =>
      this.run(request, moved);
    for (const spec of start.embedders)
      this.models.set(spec.key, {
        queries: queriesLane(spec, threads, run, meters?.lane('embed', 'queries')),
        documents: documentsLane(spec, threads, run, meters?.lane('embed', 'documents')),
      });
    for (const spec of start.rerankers)
      this.rerankers.set(spec.key, rerankLane(spec, threads, run, meters?.lane('embed', 'rerank')));
  }

  lanesOf(embedder: string): ModelLanes | undefined {
    return this.models.get(embedder);
  }

  rerankLaneOf(reranker: string): Lane<Omit<RerankTexts, 'kind'>, Float32Array> | undefined {
    return this.rerankers.get(reranker);
  }

  /** Ends the threads, as a crash would: for tests. */
  async kill(): Promise<void> {
    await this.threads.kill();
  }

  /**
   * What waits and what is under way is refused. A thread is ended between two runs of a model: one that is ended
   * within a run takes the whole process with it, for the runtime throws where nobody catches.
   */
  async close(): Promise<void> {
    this.closing = true;
    for (const word of this.cancelWords) Atomics.store(word, 0, 1);
    if (this.start.role !== 'remote')
      await Promise.race([Promise.allSettled(this.underway), sleep(RUNS_END_WITHIN_MS, undefined, { ref: false })]);
    await this.threads.end();
  }

  private async run<R extends EmbedRequest>(request: R, transferList: ArrayBuffer[]): Promise<EmbedAnswer<R>> {
    if (this.closing) throw new AppError('shutting_down');
    const answer = this.ask(request, transferList);
    observed(request, answer, this.observe);
    this.underway.add(answer);
    if (request.kind === 'documents') this.cancelWords.add(request.cancelled);
    try {
      return await answer;
    } finally {
      this.underway.delete(answer);
      if (request.kind === 'documents') this.cancelWords.delete(request.cancelled);
    }
  }

  private async ask<R extends EmbedRequest>(request: R, transferList: ArrayBuffer[]): Promise<EmbedAnswer<R>> {
    const task = this.threads.run(request, { transferList }) as Promise<
      Outcome<QueryVectors | EmbeddedDocuments | RerankScores>
    >;
    const refused = (error: unknown): Promise<never> =>
      Promise.reject(this.closing ? new AppError('shutting_down') : error);
    const answer = await settled(task.catch(refused), 'embedder_unavailable', this.log);
    // What was cut short holds no vectors.
    if (this.closing) throw new AppError('shutting_down');
    return answer as EmbedAnswer<R>;
  }
}

export interface EmbedThreads {
  queries: number;
  documents: number;
  /** Threads that one run of a model may use, for a query and for documents. */
  queryModel: number;
  documentModel: number;
}

interface EmbedPoolOptions {
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
