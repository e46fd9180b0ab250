// Batch ingest as NDJSON. Documents are sent as their source yields them, and results arrive meanwhile. Neither body
// nor answer is ever held whole. Browsers, which cannot send a stream over HTTP/1.1, send batches.
import type { BatchAnswer, BatchItemResult, BatchSummary } from '../api/documents.js';
import { type DocumentRequest, documentBody } from './encoding.js';
import { SheafError, SheafUnreachable } from './errors.js';
import { type CallOptions, type Transport, causeOf, firstOf } from './transport.js';

/** Idle timeout: limits each wait for the other side rather than the duration of the whole stream. */
class IdleTimeout {
  private readonly controller = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private pauses = 0;

  constructor(private readonly limitMs: number) {
    this.restart();
  }

  /** Aborted after too long a silence. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  restart(): void {
    clearTimeout(this.timer);
    if (this.pauses > 0) return;
    this.timer = setTimeout(
      () => this.controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError')),
      this.limitMs,
    );
  }

  /** Stops the timeout while this side is the slow one. Each `pause` needs a `resume`. */
  pause(): void {
    this.pauses += 1;
    clearTimeout(this.timer);
  }

  resume(): void {
    this.pauses -= 1;
    this.restart();
  }

  end(): void {
    this.pauses = Infinity;
    clearTimeout(this.timer);
  }
}

/** The non-empty lines of an answer as they arrive, without line ends. Each received piece restarts the timeout. */
async function* linesOf(response: Response, idle: IdleTimeout): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const piece of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    idle.restart();
    const lines = (rest + decoder.decode(piece, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield* lines.filter((line) => line !== '');
  }
  if (rest !== '') yield rest;
}

export type DocumentSource = Iterable<DocumentRequest> | AsyncIterable<DocumentRequest>;

/** The approximate size of the pieces that are sent. */
const PIECE_CHARACTERS = 64 * 1024;
const LATER = Symbol('later');

/**
 * Yields results in the order of the documents and returns the summary. Sent once, because a source cannot be read
 * twice. A consumer that stops early ends the request; documents already sent may have been stored.
 *
 * Rejects with what the source throws, with SheafError if the server rejects the request, and with SheafUnreachable if
 * the connection breaks or is silent for the client's timeout while neither the source nor the consumer is slow.
 */
export const ingestStream = (
  ...given: [Transport, readonly string[], DocumentSource, CallOptions?]
): AsyncGenerator<BatchItemResult, BatchSummary> => (isBrowser ? inBatches(...given) : inStream(...given));

const isBrowser = 'document' in globalThis || 'WorkerGlobalScope' in globalThis;
const BATCH_DOCUMENTS = 256;

async function* inBatches(
  transport: Transport,
  path: readonly string[],
  documents: DocumentSource,
  { idempotencyKey: key, ...call }: CallOptions = {},
): AsyncGenerator<BatchItemResult, BatchSummary> {
  const startedAtMs = performance.now();
  const sum = { count: 0, succeeded: 0, failed: 0, request_id: '' };
  let batch: object[] = [];
  async function* send(): AsyncGenerator<BatchItemResult, void> {
    const { count } = sum;
    const keyed = { ...call, ...(key !== undefined && { idempotencyKey: `${key}-${count}` }) };
    const answer = await transport.post<BatchAnswer>(path, { documents: batch }, keyed);
    batch = [];
    sum.count += answer.count;
    sum.succeeded += answer.succeeded;
    sum.failed += answer.failed;
    sum.request_id = answer.request_id;
    for (const result of answer.documents) yield { ...result, index: count + result.index };
  }
  for await (const document of documents)
    if (batch.push(documentBody(document, 'json')) === BATCH_DOCUMENTS) yield* send();
  if (batch.length > 0) yield* send();
  return { ok: true, ...sum, latency_ms: performance.now() - startedAtMs };
}

async function* inStream(
  transport: Transport,
  path: readonly string[],
  documents: DocumentSource,
  call: CallOptions = {},
): AsyncGenerator<BatchItemResult, BatchSummary> {
  const idle = new IdleTimeout(transport.timeoutMs);
  const ends = new AbortController();
  const source = new LineSource(documents, idle, () => ends.abort());
  const signal = firstOf([idle.signal, ends.signal, ...(call.signal ? [call.signal] : [])]);
  try {
    const response = await transport.stream({
      path,
      contentType: 'application/x-ndjson',
      body: source.stream(),
      signal,
      ...(call.idempotencyKey !== undefined && { idempotencyKey: call.idempotencyKey }),
    });
    for await (const line of linesOf(response, idle)) {
      const result = JSON.parse(line) as BatchItemResult | BatchSummary;
      if (!('index' in result)) return result;
      idle.pause();
      yield result;
      idle.resume();
    }
    throw new Error('the results ended early');
  } catch (error) {
    if (source.failure !== undefined) throw source.failure.error;
    call.signal?.throwIfAborted();
    if (error instanceof SheafError || error instanceof SheafUnreachable) throw error;
    throw new SheafUnreachable(transport.base, causeOf(error), { cause: error });
  } finally {
    idle.end();
    ends.abort();
    source.close();
  }
}

/** Documents as pieces of NDJSON, read from the source on demand. */
class LineSource {
  /** The error that the source has thrown. */
  failure: { readonly error: unknown } | undefined;
  private readonly documents: AsyncIterator<DocumentRequest> | Iterator<DocumentRequest>;
  /** A document that has been requested but had not arrived when the last piece was sent. */
  private pending: Promise<string | undefined> | undefined;

  constructor(
    documents: DocumentSource,
    private readonly idle: IdleTimeout,
    private readonly failed: () => void,
  ) {
    this.documents =
      Symbol.asyncIterator in documents ? documents[Symbol.asyncIterator]() : documents[Symbol.iterator]();
  }

  stream(): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>({ pull: (controller) => this.pull(controller) });
  }

  /** Closes the source. Not awaited, because the source may hang in the middle of a document. */
  close(): void {
    void Promise.resolve(this.documents.return?.()).catch(() => undefined);
  }

  /** Sends what the source yields at once, up to one piece. Waits if the source has nothing yet. */
  private async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    // Yields to the event loop between two pieces, so that the answer is read meanwhile.
    const turn = new Promise<typeof LATER>((resolve) => void setTimeout(resolve, 0, LATER));
    let piece = '';
    let line: string | undefined | typeof LATER;
    this.idle.pause();
    do {
      this.pending ??= this.next();
      line = await (piece === '' ? this.pending : Promise.race([this.pending, turn]));
      if (line === LATER) break;
      this.pending = undefined;
      piece += line ?? '';
    } while (line !== undefined && piece.length < PIECE_CHARACTERS);
    this.idle.resume();
    if (piece !== '') controller.enqueue(new TextEncoder().encode(piece));
    if (line === undefined) controller.close();
    await turn;
  }

  private async next(): Promise<string | undefined> {
    try {
      const { done, value } = await this.documents.next();
      return done ? undefined : `${JSON.stringify(documentBody(value, 'json'))}\n`;
    } catch (error) {
      this.failure = { error };
      this.failed();
      throw error;
    }
  }
}
