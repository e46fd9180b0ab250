// The searches that one thread of `sheaf bench` makes, on the main thread of the command or in a worker
// (workers/bench).
import { setMaxListeners } from 'node:events';
import { type Socket, connect, isIP } from 'node:net';
import { type RecordableHistogram, createHistogram } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import type { SearchBatchAnswer, SearchTiming } from '../api/search.js';
import { SheafUnreachable, errorOf } from '../client/errors.js';
import { MSGPACK_TYPE, packed, searchBody, unpacked } from '../client/encoding.js';
import { encodePath } from '../client/url.js';
import type { Target } from './command-line.js';

export interface Load {
  seconds: number;
  /** Maximum number of concurrent searches. */
  connections: number;
  /** Searches per second, on a fixed schedule. */
  rate?: number;
  k: number;
  mode?: string;
  /** Searches per request. */
  batch: number;
  /** How vectors are sent. Absent: searches are texts in JSON. */
  encoding?: BenchEncoding;
}

/** The encodings of vectors; each also is that of the whole body and of the answer. */
export const BENCH_ENCODINGS = ['json', 'base64', 'msgpack'] as const;
type BenchEncoding = (typeof BENCH_ENCODINGS)[number];

/** A query: a text or a vector. */
type BenchQuery = string | Float32Array;

/** What a thread is to do. Plain data. */
export interface BenchShare {
  readonly place: Pick<Target, 'tenant' | 'collection' | 'access'>;
  readonly queries: readonly BenchQuery[];
  readonly load: Load;
}

/** What a thread has counted. Another thread can have it. */
export interface Counts {
  readonly seconds: number;
  /** Of the answers to successful requests, in microseconds. */
  readonly histogram: RecordableHistogram;
  /** The sums of the phases that the server reports, in milliseconds. */
  readonly phases: ReadonlyMap<string, number>;
  /** Number of failures by code. */
  readonly errors: Readonly<Record<string, number>>;
  readonly succeeded: number;
  readonly failed: number;
}

/** Rejects for errors that would occur for every search, such as a rejected key, and with SheafUnreachable. */
export async function runSearches({ place, queries, load: options }: BenchShare, signal: AbortSignal): Promise<Counts> {
  const base = new URL(place.access.url);
  const requests = queries.map((_, at) => requestOf(place, base, bodyOf(queries, at, options), options));
  const connections = Array.from({ length: options.connections }, () => new BenchConnection(base));
  const ending = new AbortController();
  const end = (): void => {
    ending.abort();
    for (const connection of connections) connection.close();
  };
  // Every connection may wait on this signal.
  setMaxListeners(0, ending.signal);
  signal.addEventListener('abort', end, { once: true });
  const run = new BenchRun(requests, options, ending.signal);
  try {
    await Promise.all(connections.map((connection) => run.work(connection)));
    return run.counts();
  } finally {
    signal.removeEventListener('abort', end);
    end();
  }
}

/** The body of a request for the query at `at`, or for as many from there on as a batch has. */
function bodyOf(queries: readonly BenchQuery[], at: number, { k, mode, batch, encoding }: Load): object {
  const searches = Array.from({ length: batch }, (_, i) => {
    const query = queries[(at + i) % queries.length] as BenchQuery;
    if (typeof query === 'string') return { q: query, k, mode };
    return searchBody(
      { v: encoding === 'json' ? Array.from(query) : query, k },
      encoding === 'msgpack' ? encoding : 'json',
    );
  });
  return batch === 1 ? (searches[0] as object) : { searches };
}

/** The bytes of a request, built once and sent many times. */
function requestOf(
  { tenant, collection, access: { key } }: BenchShare['place'],
  { host, pathname }: URL,
  search: object,
  { batch, encoding }: Load,
): Buffer {
  const isMsgpack = encoding === 'msgpack';
  const body = isMsgpack ? packed(search) : Buffer.from(JSON.stringify(search));
  const route = batch === 1 ? 'search' : 'search:batch';
  const path = `${pathname.replace(/\/+$/, '')}${encodePath(['v1', 'collections', tenant, collection, route])}`;
  const headers = {
    host,
    'content-type': isMsgpack ? MSGPACK_TYPE : 'application/json',
    'content-length': body.length,
    ...(isMsgpack && { accept: MSGPACK_TYPE }),
    ...(key && { authorization: `Bearer ${key}` }),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n`), body]);
}

/**
 * Runs as many concurrent searches as there are connections, each as soon as the previous one is answered; or on a
 * schedule, where latency counts from the time at which a search was due, so that a stalled server does not look fast.
 */
class BenchRun {
  private readonly startedAtMs = performance.now();
  private readonly histogram = createHistogram();
  private readonly phases = new Map<string, number>();
  private readonly errors: Record<string, number> = {};
  private sent = 0;
  private succeeded = 0;
  private failed = 0;

  constructor(
    private readonly requests: readonly Buffer[],
    private readonly options: Load,
    private readonly signal: AbortSignal,
  ) {}

  /** Runs the searches of one connection. */
  async work(connection: BenchConnection): Promise<void> {
    const { seconds, rate } = this.options;
    while (!this.signal.aborted) {
      const number = this.sent;
      const dueAfterMs =
        rate === undefined ? performance.now() - this.startedAtMs : (1000 * number * this.options.batch) / rate;
      if (dueAfterMs >= 1000 * seconds) return;
      this.sent += 1;
      const dueAtMs = this.startedAtMs + dueAfterMs;
      if (!(await this.isReached(dueAtMs))) return;
      await this.search(connection, this.requests[number % this.requests.length] as Buffer, dueAtMs);
    }
  }

  /** Waits for a due time; false if the run is aborted before. */
  private async isReached(dueAtMs: number): Promise<boolean> {
    const leftMs = dueAtMs - performance.now();
    if (leftMs > 0) await sleep(leftMs, undefined, { signal: this.signal }).catch(() => undefined);
    return !this.signal.aborted;
  }

  counts(): Counts {
    const { histogram, phases, errors, succeeded, failed } = this;
    return { seconds: (performance.now() - this.startedAtMs) / 1000, histogram, phases, errors, succeeded, failed };
  }

  private async search(connection: BenchConnection, request: Buffer, dueAtMs: number): Promise<void> {
    const answer = await connection.ask(request).catch((error: unknown) => {
      if (!this.signal.aborted) throw error;
    });
    if (answer === undefined) return;
    if (answer.status !== 200) return this.refused(answer);
    this.histogram.record(Math.max(1, Math.round((performance.now() - dueAtMs) * 1000)));
    this.succeeded += this.options.batch;
    if (this.options.batch > 1) this.countFailures(answer.body);
    if (this.options.encoding !== 'msgpack') this.addPhases(timingOf(answer.body));
  }

  /** Counts the searches of a batch that failed. An answer is parsed only if there are any. */
  private countFailures(body: Buffer): void {
    const isMsgpack = this.options.encoding === 'msgpack';
    if (!body.includes(isMsgpack ? FAILED_MSGPACK : FAILED_JSON)) return;
    const { results } = (isMsgpack ? unpacked(body) : JSON.parse(body.toString())) as SearchBatchAnswer;
    for (const result of results) {
      if (result.ok) continue;
      this.succeeded -= 1;
      this.failed += 1;
      this.errors[result.code] = (this.errors[result.code] ?? 0) + 1;
    }
  }

  /** Counts a failure. Throws for errors that would occur for every search, such as a rejected key. */
  private refused({ status, body }: BenchAnswer): void {
    const told = this.options.encoding === 'msgpack' ? unpacked(body) : body.toString();
    const error = errorOf({ status, statusText: `HTTP ${status}`, headers: { get: () => null } }, told);
    this.failed += this.options.batch;
    this.errors[error.code] = (this.errors[error.code] ?? 0) + this.options.batch;
    if (status < 429) throw error;
  }

  private addPhases(timing: SearchTiming | undefined): void {
    for (const [phase, phaseMs] of Object.entries(timing ?? {}))
      this.phases.set(phase, (this.phases.get(phase) ?? 0) + (phaseMs as number));
  }
}

const TIMING = '"timing":';
/** How the error of a search of a batch begins; no text can contain it. */
const FAILED_JSON = '"ok":false,"code":';
const FAILED_MSGPACK = Buffer.from('\xa2ok\xc2\xa4code', 'latin1');

/** Extracts the timing, of a batch that of the last search, which follows the hits, without parsing them. Within a text its quotes would be escaped. */
function timingOf(body: Buffer): SearchTiming | undefined {
  const at = body.lastIndexOf(TIMING);
  if (at < 0) return undefined;
  return JSON.parse(body.toString('utf8', at + TIMING.length, body.indexOf('}', at) + 1)) as SearchTiming;
}

interface BenchAnswer {
  readonly status: number;
  readonly body: Buffer;
}

/** The same timeout as the client's. */
const ANSWER_WITHIN_MS = 300_000;
const HEAD_BYTES_MAX = 64 * 1024;
const HEAD_END = '\r\n\r\n';
const LAST_CHUNK = '0\r\n\r\n';

interface Waiting {
  resolve(answer: BenchAnswer): void;
  reject(reason: Error): void;
}

/**
 * One connection over a plain socket. Requests are prebuilt bytes, and an answer is parsed only as far as needed to
 * find its end. fetch takes several times as much CPU on a machine that often runs the server too, so the benchmark
 * would measure itself.
 */
class BenchConnection {
  private socket: Socket | undefined;
  private isClosed = false;
  private waiting: Waiting | undefined;
  private received: Buffer[] = [];
  private receivedBytes = 0;
  /** The head of the current answer, once it is complete. */
  private head: Head | undefined;

  constructor(private readonly base: URL) {}

  /** One request at a time. Rejects with SheafUnreachable if no answer comes, and after `close`. */
  async ask(request: Buffer): Promise<BenchAnswer> {
    const kept = this.socket;
    try {
      return await this.sent(kept ?? this.open(), request);
    } catch (error) {
      // A server may close an idle connection at the moment when it is reused.
      const isStale =
        !this.isClosed && kept !== undefined && this.receivedBytes === 0 && (error as Error).message === CLOSED;
      const failure = isStale ? await this.sent(this.open(), request).catch((again: Error) => again) : (error as Error);
      if (!(failure instanceof Error)) return failure;
      throw new SheafUnreachable(this.base.href, (failure as NodeJS.ErrnoException).code ?? failure.message);
    }
  }

  close(): void {
    this.isClosed = true;
    this.socket?.destroy();
  }

  private sent(socket: Socket, request: Buffer): Promise<BenchAnswer> {
    [this.received, this.receivedBytes, this.head] = [[], 0, undefined];
    return new Promise((resolve, reject) => {
      this.waiting = { resolve, reject };
      socket.write(request);
    });
  }

  private open(): Socket {
    const { protocol, hostname, port } = this.base;
    const host = hostname.replace(/^\[|\]$/g, '');
    const isTls = protocol === 'https:';
    const address = { host, port: Number(port) || (isTls ? 443 : 80) };
    const socket = isTls ? connectTls({ ...address, ...(!isIP(host) && { servername: host }) }) : connect(address);
    socket.setNoDelay(true).setTimeout(ANSWER_WITHIN_MS, () => socket.destroy(new Error('no answer in time')));
    socket.on('data', (piece) => this.take(piece));
    socket.on('error', (error) => this.fail(socket, error));
    socket.on('close', () => this.fail(socket, new Error(CLOSED)));
    this.socket = socket;
    return socket;
  }

  private fail(socket: Socket, reason: Error): void {
    if (this.socket !== socket) return;
    this.socket = undefined;
    this.waiting?.reject(reason);
    this.waiting = undefined;
  }

  private take(piece: Buffer): void {
    this.received.push(piece);
    this.receivedBytes += piece.length;
    this.head ??= headOf(this.received.length === 1 ? piece : (this.received = [Buffer.concat(this.received)])[0]!);
    const { head } = this;
    if (head === undefined) {
      if (this.receivedBytes > HEAD_BYTES_MAX) this.socket?.destroy(new Error('the answer is not HTTP'));
      return;
    }
    if (head.bodyBytes !== undefined && this.receivedBytes < head.bytes + head.bodyBytes) return;
    if (head.bodyBytes === undefined && !this.endsWithLastChunk(piece)) return;
    const content = (this.received.length === 1 ? piece : Buffer.concat(this.received)).subarray(head.bytes);
    const body = head.bodyBytes === undefined ? unchunked(content) : content;
    if (body !== undefined) this.answered(head, body);
  }

  /** The last chunk may come in several pieces. */
  private endsWithLastChunk(piece: Buffer): boolean {
    const end = piece.length < LAST_CHUNK.length ? Buffer.concat(this.received) : piece;
    return end.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK_BYTES);
  }

  private answered({ status, isLast }: Head, body: Buffer): void {
    const { waiting } = this;
    this.waiting = undefined;
    if (isLast) {
      this.socket?.destroy();
      this.socket = undefined;
    }
    waiting?.resolve({ status, body });
  }
}

const CLOSED = 'the server closed the connection';
const LAST_CHUNK_BYTES = Buffer.from(LAST_CHUNK);

interface Head {
  readonly status: number;
  /** Size of the head, including the empty line. */
  readonly bytes: number;
  /** Undefined for a chunked body. */
  readonly bodyBytes: number | undefined;
  /** Whether the server closes the connection after this answer. */
  readonly isLast: boolean;
}

/** Parses the head; undefined until it is complete. */
function headOf(received: Buffer): Head | undefined {
  const end = received.indexOf(HEAD_END);
  if (end < 0) return undefined;
  const text = received.toString('latin1', 0, end + 2);
  const length = /\r\ncontent-length: *(\d+)/i.exec(text);
  return {
    status: Number(/^HTTP\/1\.[01] (\d{3})/.exec(text)?.[1] ?? 0),
    bytes: end + HEAD_END.length,
    bodyBytes: length ? Number(length[1]) : /\r\ntransfer-encoding: *chunked/i.test(text) ? undefined : 0,
    isLast: /\r\nconnection: *close/i.test(text),
  };
}

/** Decodes a chunked body; undefined if what looks like the last chunk is within another one. */
function unchunked(content: Buffer): Buffer | undefined {
  const chunks: Buffer[] = [];
  for (let at = 0; at < content.length; ) {
    const lineEnd = content.indexOf('\r\n', at);
    const bytes = Number.parseInt(content.toString('latin1', at, lineEnd), 16);
    if (lineEnd < 0 || Number.isNaN(bytes)) return undefined;
    if (bytes === 0) return Buffer.concat(chunks);
    chunks.push(content.subarray(lineEnd + 2, lineEnd + 2 + bytes));
    at = lineEnd + 2 + bytes + 2;
  }
  return undefined;
}
