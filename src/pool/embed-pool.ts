// The embed workers, in a pool of their own, so that an embedding never delays a search in a shard. Queries of one turn of
// the event loop travel in one message and go ahead of documents, of which few are under way at a time; in both lanes tenants
// are served in turn. Front thread.
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import type { Log } from '../base/log.js';
import type { EmbedDocuments } from '../contract/batch-messages.js';
import type { EmbedAnswer, EmbedDocument, EmbedQueries } from '../contract/embed-messages.js';
import type { Outcome } from '../contract/messages.js';
import { Lane, type Ask } from './lane.js';
import { LoadedThreads } from './loaded-threads.js';
import { settled } from './outcomes.js';

const QUERIES_MAX = 32;
const MESSAGES_PER_WORKER = 2;
const WAITING_MAX = 8192;
/** Bytes of documents that a tenant may have embedded before the next one is served: some milliseconds of work. */
const DOCUMENTS_QUANTUM_BYTES = 64 * 1024;

type DocumentsMessage = EmbedDocument | EmbedDocuments;

export class EmbedPool {
  private readonly piscina: Piscina;
  private readonly threads: LoadedThreads;
  private readonly queries: Lane<string, Float32Array>;
  private readonly documents: Lane<DocumentsMessage, EmbedAnswer>;
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
    this.threads = new LoadedThreads(this.piscina);
    this.piscina.on('error', (error: Error) => log.error({ fault: error.stack }, 'an embed worker died'));
    const lane = { messagesMax: threads * MESSAGES_PER_WORKER, waitingMax: WAITING_MAX };
    const costOf = (message: DocumentsMessage): number => documentsOf(message).byteLength;
    this.queries = new Lane({ ...lane, requestsMax: QUERIES_MAX }, (batch) => this.sendQueries(batch));
    this.documents = new Lane({ ...lane, requestsMax: 1, costOf, quantum: DOCUMENTS_QUANTUM_BYTES }, (batch) => this.sendDocument(batch));
  }

  /** The vector of a query text; rejects with AppError `embedder_unavailable` when the worker died, `overloaded` when too many wait. */
  embedQuery(text: string, tenant?: string): Promise<Float32Array> {
    return this.queries.ask(text, tenant);
  }

  /** One vector a chunk of the prepared document. Its bytes are moved to the worker; the answer hands them back. */
  embedDocument(document: Uint8Array, tenant?: string): Promise<EmbedAnswer> {
    return this.documents.ask({ kind: 'document', document }, tenant);
  }

  /** Fills in the vectors of the chunks that have a text. All bytes are moved to the worker; the answer hands them back. */
  embedDocuments(documents: Omit<EmbedDocuments, 'kind'>, tenant?: string): Promise<EmbedAnswer> {
    return this.documents.ask({ kind: 'documents', ...documents }, tenant);
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
    await this.threads.end();
  }

  private async sendQueries(batch: Ask<string, Float32Array>[]): Promise<void> {
    await this.settle(batch, async () => {
      const answer = await this.run({ kind: 'queries', texts: batch.map(({ request }) => request) }, []);
      const dim = answer.vectors.length / batch.length;
      batch.forEach(({ resolve }, i) => resolve(answer.vectors.subarray(i * dim, (i + 1) * dim)));
    });
  }

  private async sendDocument(batch: Ask<DocumentsMessage, EmbedAnswer>[]): Promise<void> {
    await this.settle(batch, async () => {
      for (const { request, resolve } of batch) resolve(await this.run(request, buffersOf(request)));
    });
  }

  private async settle<Q, A>(batch: Ask<Q, A>[], work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  private run(message: EmbedQueries | DocumentsMessage, transferList: ArrayBuffer[]): Promise<EmbedAnswer> {
    const task = this.piscina.run(message, { name: 'run', transferList }) as Promise<Outcome<EmbedAnswer>>;
    return settled(task, 'embedder_unavailable', this.log);
  }
}

const documentsOf = (message: DocumentsMessage): Uint8Array => (message.kind === 'document' ? message.document : message.documents);

function buffersOf(message: DocumentsMessage): ArrayBuffer[] {
  const views = message.kind === 'document' ? [message.document] : [message.documents, message.vectors];
  return views.map(({ buffer }) => buffer as ArrayBuffer);
}
