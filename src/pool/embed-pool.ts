// The embed workers, in a pool of their own, so that an embedding never delays a search in a shard. Queries of one turn of
// the event loop travel in one message and go ahead of documents, of which few are under way at a time. Front thread.
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import type { Log } from '../base/log.js';
import type { EmbedAnswer, EmbedDocument, EmbedQueries, Outcome } from '../contract/messages.js';
import { Lane, type Ask } from './lane.js';
import { settled } from './outcomes.js';

const QUERIES_MAX = 64;
const DOCUMENTS_PER_WORKER = 2;

export class EmbedPool {
  private readonly piscina: Piscina;
  private readonly queries: Lane<string, Float32Array>;
  private readonly documents: Lane<Uint8Array, EmbedAnswer>;
  private answered = false;

  constructor(
    threads: number,
    private readonly log: Log,
  ) {
    this.piscina = new Piscina({
      filename: fileURLToPath(new URL('../../workers/embed/worker.js', import.meta.url)),
      minThreads: threads,
      maxThreads: threads,
      concurrentTasksPerWorker: 1_000_000,
      atomics: 'async',
      recordTiming: false,
    });
    this.piscina.on('error', (error: Error) => log.error({ fault: error.stack }, 'an embed worker died'));
    this.queries = new Lane({ requestsMax: QUERIES_MAX, messagesMax: Infinity }, (batch) => this.sendQueries(batch));
    this.documents = new Lane({ requestsMax: 1, messagesMax: threads * DOCUMENTS_PER_WORKER }, (batch) => this.sendDocument(batch));
  }

  /** The vector of a query text; rejects with AppError `embedder_unavailable` when the worker died. */
  embedQuery(text: string): Promise<Float32Array> {
    return this.queries.ask(text);
  }

  /** One vector a chunk of the prepared document. Its bytes are moved to the worker; the answer hands them back. */
  embedDocument(document: Uint8Array): Promise<EmbedAnswer> {
    return this.documents.ask(document);
  }

  /** Whether the embedder answers. Asked anew until it has once; a worker that dies later is replaced by the pool. */
  async usable(): Promise<boolean> {
    this.answered ||= await this.embedQuery('ready').then(
      () => true,
      () => false,
    );
    return this.answered;
  }

  /** Ends the threads, as a crash would: for tests. */
  async kill(): Promise<void> {
    await Promise.all(this.piscina.threads.map((thread) => thread.terminate()));
  }

  async close(): Promise<void> {
    await this.piscina.destroy();
  }

  private async sendQueries(batch: Ask<string, Float32Array>[]): Promise<void> {
    await this.settle(batch, async () => {
      const answer = await this.run({ kind: 'queries', texts: batch.map(({ request }) => request) }, []);
      const dim = answer.vectors.length / batch.length;
      batch.forEach(({ resolve }, i) => resolve(answer.vectors.subarray(i * dim, (i + 1) * dim)));
    });
  }

  private async sendDocument(batch: Ask<Uint8Array, EmbedAnswer>[]): Promise<void> {
    await this.settle(batch, async () => {
      for (const { request, resolve } of batch) resolve(await this.run({ kind: 'document', document: request }, [request.buffer as ArrayBuffer]));
    });
  }

  private async settle<Q, A>(batch: Ask<Q, A>[], work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  private run(message: EmbedQueries | EmbedDocument, transferList: ArrayBuffer[]): Promise<EmbedAnswer> {
    const task = this.piscina.run(message, { name: 'run', transferList }) as Promise<Outcome<EmbedAnswer>>;
    return settled(task, 'embedder_unavailable', this.log);
  }
}
