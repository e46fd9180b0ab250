// The embed threads of one role, and what waits for them: a lane for the queries, the documents and the pairs of each model.
// Queries of one turn of the event loop travel together; tenants are served in turn. Used by embed-pool.ts on the front thread.
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import type { Log } from '../base/log.js';
import type { EmbedAnswer, EmbeddedDocuments, EmbedRequest, EmbedWorkerStart, QueryVectors, RerankScores, RerankTexts } from '../contract/embed-messages.js';
import type { Outcome } from '../contract/messages.js';
import { documentsLane, queriesLane, rerankLane, type DocumentsAsk } from './embed-lanes.js';
import type { Lane } from './lane.js';
import { LoadedThreads } from './loaded-threads.js';
import { settled } from './outcomes.js';

/** The lanes of one model. */
interface ModelLanes {
  queries: Lane<string, Float32Array>;
  documents: Lane<DocumentsAsk, EmbeddedDocuments>;
}

export class EmbedCrew {
  private readonly piscina: Piscina;
  private readonly threads: LoadedThreads;
  private readonly models = new Map<string, ModelLanes>();
  private readonly rerankers = new Map<string, Lane<Omit<RerankTexts, 'kind'>, Float32Array>>();

  constructor(
    threads: number,
    start: EmbedWorkerStart,
    private readonly log: Log,
  ) {
    this.piscina = new Piscina({
      filename: fileURLToPath(new URL('../../workers/embed/worker.js', import.meta.url)),
      minThreads: threads,
      maxThreads: threads,
      concurrentTasksPerWorker: 1_000_000,
      atomics: 'async',
      recordTiming: false,
      workerData: start,
    });
    this.threads = new LoadedThreads(this.piscina);
    this.piscina.on('error', (error: Error) => log.error({ fault: error.stack }, 'an embed worker died'));
    const run = <R extends EmbedRequest>(request: R, moved: ArrayBuffer[]): Promise<EmbedAnswer<R>> => this.run(request, moved);
    for (const spec of start.embedders) this.models.set(spec.key, { queries: queriesLane(spec, threads, run), documents: documentsLane(spec, threads, run) });
    for (const { key } of start.rerankers) this.rerankers.set(key, rerankLane(threads, run));
  }

  lanesOf(embedder: string): ModelLanes | undefined {
    return this.models.get(embedder);
  }

  rerankLaneOf(reranker: string): Lane<Omit<RerankTexts, 'kind'>, Float32Array> | undefined {
    return this.rerankers.get(reranker);
  }

  /** Ends the threads, as a crash would: for tests. */
  async kill(): Promise<void> {
    await Promise.all(this.piscina.threads.map((thread) => thread.terminate()));
  }

  async close(): Promise<void> {
    await this.threads.end();
  }

  private run<R extends EmbedRequest>(request: R, transferList: ArrayBuffer[]): Promise<EmbedAnswer<R>> {
    const task = this.piscina.run(request, { name: 'run', transferList }) as Promise<Outcome<QueryVectors | EmbeddedDocuments | RerankScores>>;
    return settled(task, 'embedder_unavailable', this.log) as Promise<EmbedAnswer<R>>;
  }
}
