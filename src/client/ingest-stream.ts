// Batch ingest as NDJSON: documents go out as their source gives them, results come back while the rest is still being
// sent. Neither the body nor the answer is ever held whole.
import type { BatchItemResult, BatchSummary, IngestBody } from '../api/documents.js';
import { SheafError, SheafUnreachable } from './errors.js';
import { type CallOptions, type Transport, causeOf } from './transport.js';

/** A time limit on silence: it is not the whole of a stream that must end in time, but each wait for the other side. */
class IdleTimeout {
  private readonly controller = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private pauses = 0;

  constructor(private readonly limitMs: number) {
    this.restart();
  }

  /** Aborted when it was quiet for too long. */
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

  /** While one's own side is waited for. Each pause wants its `resume`. */
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

/**
 * The lines of an answer as they come, without their ends; empty ones are left out. Each piece that comes starts the
 * timeout anew.
 */
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

export type DocumentSource = Iterable<IngestBody> | AsyncIterable<IngestBody>;

/** About so much of the source is sent at a time. */
const PIECE_CHARACTERS = 64 * 1024;
const LATER = Symbol('later');

/**
 * The results in the order of the documents; the generator's own result is the summary. Rejects with what the source
 * throws, SheafError where the server refuses, SheafUnreachable where the connection breaks or is silent for the
 * client's time limit while neither the source nor the taker of the results is waited for. It is sent once: a source
 * cannot be asked again. A taker who stops early ends the request; documents that have gone out may have been stored.
 */
export async function* ingestStream(
  transport: Transport,
  path: readonly string[],
  documents: DocumentSource,
  call: CallOptions = {},
): AsyncGenerator<BatchItemResult, BatchSummary> {
  const idle = new IdleTimeout(transport.timeoutMs);
  const ends = new AbortController();
  const source = new LineSource(documents, idle, () => ends.abort());
  const signal = AbortSignal.any([idle.signal, ends.signal, ...(call.signal ? [call.signal] : [])]);
  try {
    const response = await transport.stream({
      path,
      contentType: 'application/x-ndjson',
      body: source.stream(),
      signal,
    });
    for await (const line of linesOf(response, idle)) {
      const result = JSON.parse(line) as BatchItemResult | BatchSummary;
      if (!('index' in result)) return result;
      idle.pause();
      yield result;
      idle.resume();
    }
    throw new Error('the results broke off');
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

/** Documents as pieces of NDJSON, made when they are wanted. */
class LineSource {
  /** What the source has thrown. */
  failure: { readonly error: unknown } | undefined;
  private readonly documents: AsyncIterator<IngestBody> | Iterator<IngestBody>;
  /** A document that was asked for, and had not come when a piece went out. */
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

  /** Lets the source tidy up. Not waited for: it may hang in the middle of a document. */
  close(): void {
    void Promise.resolve(this.documents.return?.()).catch(() => undefined);
  }

  /** Sends what the source has at once, up to a piece; a source that has nothing is waited for. */
  private async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    // A turn of the event loop lies between two pieces: the socket of the answer is read meanwhile.
    const turn = new Promise<typeof LATER>((resolve) => setImmediate(resolve, LATER));
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
      return done ? undefined : `${JSON.stringify(value)}\n`;
    } catch (error) {
      this.failure = { error };
      this.failed();
      throw error;
    }
  }
}
