// How much of what travels to an embed worker in one message, and how many messages are under way: few, since what
// waits at a worker is first come, first served. Used by embed-crew.ts on the front thread.
import type { EmbedderSpec, RerankerSpec } from '../contract/embedder.js';
import type {
  DocumentTexts,
  EmbedAnswer,
  EmbedDocuments,
  EmbeddedDocuments,
  EmbedRequest,
  QueryText,
  RerankTexts,
} from '../contract/embed-messages.js';
import { Lane, type Ask } from './lane.js';
import { abandoned } from '../contract/errors.js';
import type { LaneMeter } from './pool-meters.js';

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
export interface DocumentsAsk extends DocumentTexts {
  embedder: string;
  signal: AbortSignal | undefined;
}

export type Run = <R extends EmbedRequest>(request: R, moved: ArrayBuffer[]) => Promise<EmbedAnswer<R>>;

export function queriesLane(
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

export function documentsLane(
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

export function rerankLane(
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
