// Remote procedure calls between two threads over a message port, in both directions: calls with answers, cancellation,
// and streams that the other side pulls. Front threads and the main thread talk by it. Errors that are meant for clients
// cross in their wire form; any other error stays where it happened, and the caller gets a WorkerError. Any thread.
import type { MessagePort, TransferListItem } from 'node:worker_threads';
import { CancelSource, type CancelSignal } from './signals.js';

/** An internal error in another thread, which has been logged; clients get `internal_error`. */
export class WorkerError extends Error {
  override readonly name = 'WorkerError';
}

/**
 * A value with the buffers that move to the other thread with it, and the streams that it lends, which are closed if the
 * caller has gone.
 */
export class Moved<T> {
  constructor(
    readonly value: T,
    readonly buffers: TransferListItem[],
    readonly streams: readonly LentStream[] = [],
  ) {}
}

/** Answers a call; `Moved` answers move buffers. `signal` is triggered when the caller cancels, or has died. */
export type RpcHandler = (input: never, signal: CancelSignal) => unknown;

type Result = { readonly value: unknown } | { readonly error: unknown } | { readonly internalError: string };

type Message =
  | { readonly call: number; readonly op: string; readonly input: unknown }
  | { readonly cancel: number }
  | { readonly answer: number; readonly result: Result; readonly streams?: readonly LentStream[] };

/** How errors that are meant for clients cross. */
export interface ErrorCodec {
  /** The wire form of an error; undefined for an internal error. */
  toWire(error: unknown): object | undefined;
  fromWire(wire: object): Error;
  /** What a call rejects with when its caller has cancelled it. */
  abandoned(): Error;
}

interface PendingCall {
  resolve(value: unknown): void;
  reject(error: unknown): void;
  stopListening?: () => void;
}

/** A number by which the other side pulls a stream that this side lends. */
export type LentStream = number & { readonly lent: true };

interface Lent {
  readonly iterator: AsyncIterator<unknown>;
  readonly closed: (() => void) | undefined;
  hasStarted: boolean;
}

interface Pulled {
  readonly done?: boolean;
  readonly value?: unknown;
}

const STREAM_NEXT = 'stream.next';
const STREAM_END = 'stream.end';

export class RpcPeer {
  private lastCall = 0;
  private lastStream = 0;
  private readonly pending = new Map<number, PendingCall>();
  private readonly serving = new Map<number, CancelSource>();
  private readonly lent = new Map<number, Lent>();
  private hasEnded = false;

  /** `failed` is called with internal errors of handlers. */
  constructor(
    private readonly port: MessagePort,
    private readonly handlers: Readonly<Record<string, RpcHandler>>,
    private readonly errors: ErrorCodec,
    private readonly failed: (error: unknown, op: string) => void,
  ) {
    port.on('message', (message: Message) => this.receive(message));
  }

  /** Rejects with the error of the handler, when the signal is triggered, and once the peer has ended. */
  call<T>(op: string, input: unknown, signal?: CancelSignal, moved: TransferListItem[] = []): Promise<T> {
    if (this.hasEnded) return Promise.reject(new WorkerError('the other thread has ended'));
    if (signal?.aborted) return Promise.reject(this.errors.abandoned());
    const call = ++this.lastCall;
    return new Promise<T>((resolve, reject) => {
      const pending: PendingCall = { resolve: resolve as (value: unknown) => void, reject };
      this.pending.set(call, pending);
      if (signal) pending.stopListening = this.cancelWith(signal, call);
      try {
        this.port.postMessage({ call, op, input } satisfies Message, moved);
      } catch (error) {
        this.pending.delete(call);
        pending.stopListening?.();
        throw error;
      }
    });
  }

  /**
   * Lets the other side pull `pieces`; they end when it has read or closed them, or has died. `closed` is called when it
   * has not read them to the end, and must make them end soon: the other side waits for it. Nobody waits for the end of
   * pieces without it.
   */
  lend(pieces: AsyncIterable<unknown>, closed?: () => void): LentStream {
    const stream = ++this.lastStream as LentStream;
    const lent = { iterator: pieces[Symbol.asyncIterator](), closed, hasStarted: false };
    if (this.hasEnded) void close(lent);
    else this.lent.set(stream, lent);
    return stream;
  }

  /** The pieces of a stream that the other side lends. One piece is asked for ahead of the reader. */
  async *borrow<T>(stream: LentStream): AsyncGenerator<T> {
    const next = (): Promise<Pulled> => {
      const pulled = this.call<Pulled>(STREAM_NEXT, stream);
      pulled.catch(() => undefined);
      return pulled;
    };
    let isOver = false;
    try {
      for (let ahead = next(); ; ) {
        const { done, value } = await ahead;
        if (done) break;
        ahead = next();
        yield value as T;
      }
      isOver = true;
    } finally {
      if (!isOver && !this.hasEnded) await this.call(STREAM_END, stream).catch(() => undefined);
    }
  }

  /** Rejects what waits for the other thread, and cancels what it has asked for. Nothing is sent from then on. */
  end(): void {
    this.hasEnded = true;
    this.port.close();
    for (const { reject, stopListening } of this.pending.values()) {
      stopListening?.();
      reject(new WorkerError('the other thread has ended'));
    }
    this.pending.clear();
    for (const source of this.serving.values()) source.cancel();
    for (const lent of this.lent.values()) void close(lent);
    this.lent.clear();
  }

  private cancelWith(signal: CancelSignal, call: number): () => void {
    const cancel = (): void => {
      const pending = this.pending.get(call);
      if (!pending) return;
      this.pending.delete(call);
      this.send({ cancel: call });
      pending.reject(this.errors.abandoned());
    };
    signal.addEventListener('abort', cancel, { once: true });
    return () => signal.removeEventListener('abort', cancel);
  }

  private receive(message: Message): void {
    if ('answer' in message) this.settle(message.answer, message.result, message.streams);
    else if ('cancel' in message) this.serving.get(message.cancel)?.cancel();
    else void this.serve(message.call, message.op, message.input);
  }

  private settle(call: number, result: Result, streams: readonly LentStream[] = []): void {
    const pending = this.pending.get(call);
    // The call has been cancelled while its answer was on the way.
    if (!pending) return streams.forEach((stream) => void this.call(STREAM_END, stream).catch(() => undefined));
    this.pending.delete(call);
    pending.stopListening?.();
    if ('value' in result) pending.resolve(result.value);
    else if ('error' in result) pending.reject(this.errors.fromWire(result.error as object));
    else pending.reject(new WorkerError(result.internalError));
  }

  private async serve(call: number, op: string, input: unknown): Promise<void> {
    const source = new CancelSource();
    this.serving.set(call, source);
    try {
      const answer = await this.answer(op, input, source);
      const { value, buffers, streams } = answer instanceof Moved ? answer : new Moved(answer, []);
      this.serving.delete(call);
      this.send({ answer: call, result: { value }, streams }, buffers);
    } catch (error) {
      this.serving.delete(call);
      const wire = this.errors.toWire(error);
      if (!wire && !(error instanceof WorkerError) && !source.aborted) this.failed(error, op);
      this.send({ answer: call, result: wire ? { error: wire } : { internalError: `the call ${op} failed` } });
    }
  }

  private send(message: Message, moved: TransferListItem[] = []): void {
    if (!this.hasEnded) this.port.postMessage(message, moved);
  }

  private answer(op: string, input: unknown, signal: CancelSignal): unknown {
    if (op === STREAM_NEXT) return this.nextPiece(input as number);
    if (op === STREAM_END) return this.endStream(input as number);
    return (this.handlers[op] as RpcHandler)(input as never, signal);
  }

  /** Bytes are copied, because the pieces of a stream may be lent until the next one is asked for. */
  private async nextPiece(stream: number): Promise<Pulled | Moved<Pulled>> {
    const lent = this.lent.get(stream);
    if (!lent) return { done: true };
    lent.hasStarted = true;
    const { done, value } = await lent.iterator.next().catch((error: unknown) => {
      this.lent.delete(stream);
      throw error;
    });
    if (done) {
      this.lent.delete(stream);
      return { done };
    }
    if (!(value instanceof Uint8Array)) return { value };
    const bytes = new Uint8Array(value);
    return new Moved({ value: bytes }, [bytes.buffer]);
  }

  private async endStream(stream: number): Promise<void> {
    const lent = this.lent.get(stream);
    if (!lent) return;
    this.lent.delete(stream);
    const ended = close(lent);
    if (lent.closed) await ended;
  }
}

/** Never rejects. A generator that has not started would not run its `finally`, so it is started before. */
async function close({ iterator, closed, hasStarted }: Lent): Promise<void> {
  try {
    closed?.();
    if (!hasStarted) await iterator.next();
    await iterator.return?.();
  } catch {
    // Nobody reads the pieces any more.
  }
}
