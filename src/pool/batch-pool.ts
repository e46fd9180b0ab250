// The batch workers: parsing, extraction and chunking of documents, off the front thread, which stays free to answer.
// Front thread; made by server.ts, asked by the ingest use case.
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import { ownBytes } from '../base/bytes.js';
import type { Log } from '../base/log.js';
import { AppError } from '../contract/errors.js';
import type { Outcome, PrepareAnswer, PrepareRequest } from '../contract/messages.js';
import { settled } from './outcomes.js';

const WAITING_MAX = 1024;

export class BatchPool {
  private readonly piscina: Piscina;

  constructor(
    threads: number,
    private readonly log: Log,
  ) {
    this.piscina = new Piscina({
      filename: fileURLToPath(new URL('../../workers/batch/worker.js', import.meta.url)),
      minThreads: threads,
      maxThreads: threads,
      maxQueue: WAITING_MAX,
      atomics: 'async',
      recordTiming: false,
    });
    this.piscina.on('error', (error: Error) => log.error({ fault: error.stack }, 'a batch worker died'));
  }

  /** Cuts a document into chunks. The body's bytes are moved. Rejects with AppError; `overloaded` when too many wait. */
  async prepare(request: PrepareRequest): Promise<PrepareAnswer> {
    if (this.piscina.queueSize >= WAITING_MAX) throw new AppError('overloaded', undefined, { retryAfterS: 1 });
    const { body } = request;
    const bytes = 'bytes' in body ? ownBytes(body.bytes) : undefined;
    const message: PrepareRequest = bytes ? { ...request, body: { ...body, bytes } } : request;
    const task = this.piscina.run(message, { name: 'prepare', transferList: bytes ? [bytes.buffer] : [] }) as Promise<Outcome<PrepareAnswer>>;
    return settled(task, 'overloaded', this.log);
  }

  /** Ends the threads, as a crash would: for tests. */
  async kill(): Promise<void> {
    await Promise.all(this.piscina.threads.map((thread) => thread.terminate()));
  }

  async close(): Promise<void> {
    await this.piscina.destroy();
  }
}
