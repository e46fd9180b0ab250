// The embed threads of one role, and what waits for them: a lane for the queries, the documents and the pairs of each
// model. Queries of one turn of the event loop travel together; tenants are served in turn. Used by embed-pool.ts on
// the front thread.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../base/log.js';
import type {
  EmbedAnswer,
  EmbeddedDocuments,
  EmbedRequest,
  EmbedWorkerStart,
  QueryText,
  QueryVectors,
  RerankScores,
  RerankTexts,
} from '../contract/embed-messages.js';
import { AppError } from '../contract/errors.js';
import type { LogNote } from '../base/log.js';
import type { Outcome } from '../contract/errors.js';
import { documentsLane, queriesLane, rerankLane, type DocumentsAsk } from './embed-lanes.js';
import { observed, type EmbedObserver } from './embed-observer.js';
import type { Lane } from './lane.js';
import { LateThreads } from './late-threads.js';
import { logNote, settled } from './outcomes.js';
import type { PoolMeters } from './pool-meters.js';
import { workerOptions } from './worker-options.js';

/** A run takes a second at most; one that hangs does not keep the server from stopping. */
const RUNS_END_WITHIN_MS = 10_000;

/** The lanes of one model. */
interface ModelLanes {
  queries: Lane<QueryText, Float32Array>;
  documents: Lane<DocumentsAsk, EmbeddedDocuments>;
}

export class EmbedCrew {
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
