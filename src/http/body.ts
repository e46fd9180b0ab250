// A request body as handlers see it, read as bytes, as a form or as a stream, under the limit of its route. Runs on
// front threads and on the main thread.
import { assert } from '../base/assert.js';
import { AppError } from '../api/errors.js';
import type { Announced } from './connection-policy.js';
import type { BodyMemory } from './admission.js';
import { type BodyLimit, BodySource, type ByteSource, DecodedSource, decoderFor } from './body-source.js';
import { ByteGatherer, type FileLimit, TemporaryFiles, fileLimitOf, isArchive, readForm } from './form.js';
import type { Body, Form, Route } from './route.js';
import type { WireResponse } from './uws.js';

export interface BodyLimits {
  readonly jsonBytesMax: number;
  readonly searchBytesMax: number;
  readonly messageBytesMax: number;
  readonly batchBytesMax: number;
  readonly documentBytesMax: number;
  readonly archiveBytesMax: number;
  /** Where large form files go; emptied when the server starts. Absent: files stay in memory. */
  readonly temporaryDirectory?: string;
}

export interface BodyHead {
  readonly contentType: string;
  readonly contentEncoding: string;
  readonly announced: Announced;
}

/** Some clients send a body with GET or DELETE; up to this many bytes are read and discarded. */
const IGNORED_BODY_BYTES_MAX = 64 * 1024;
/** Bytes that a form may have besides its file: boundaries, part headers and the other fields. */
const FORM_FIELDS_BYTES_MAX = 1024 * 1024;

export class IncomingBody implements Body {
  private isTaken = false;
  private decoded: DecodedSource | undefined;

  constructor(
    private readonly head: BodyHead,
    /** Undefined if the request has no body. */
    readonly source: BodySource | undefined,
    private readonly limit: BodyLimit,
    private readonly file: FileLimit,
    private readonly files: TemporaryFiles | undefined,
    private readonly bodyMemory: BodyMemory,
  ) {}

  get contentType(): string {
    return this.head.contentType;
  }

  get isEmpty(): boolean {
    const { source } = this;
    return source === undefined || (source.hasEnded && source.receivedBytes === 0);
  }

  private get expectedBytes(): number | undefined {
    const isKnown = this.head.announced !== 'chunked' && this.decoded === undefined;
    return isKnown ? (this.head.announced as number) : undefined;
  }

  bytes(): Promise<Buffer> {
    return awaitedLater(this.gather());
  }

  /** Bytes in memory that are counted as held, once nothing of the request runs any more. */
  settle(): number {
    return (this.source?.settle() ?? 0) + (this.decoded?.settle() ?? 0);
  }

  form(): Promise<Form> {
    return awaitedLater(this.parse());
  }

  async *stream(): AsyncGenerator<Uint8Array> {
    const source = this.take();
    for (let chunk = await source?.lend(); chunk !== undefined; chunk = await source?.lend()) {
      yield chunk;
      source?.letGo(chunk.length);
    }
  }

  /** Throws the 413 of the route if the announced length exceeds its limit. */
  checkLength(): void {
    const { announced } = this.head;
    if (announced !== 'chunked' && announced > this.limit.bytesMax) throw this.limit.clientError();
  }

  /** Throws 415 if the server cannot decompress the body. */
  checkCoding(): void {
    if (this.source !== undefined) decoderFor(this.head.contentEncoding);
  }

  /** Reads the body to its end and discards it. */
  async discard(): Promise<void> {
    const { source } = this;
    while (await source?.read(() => undefined));
  }

  /** Deletes temporary files and stops decompression when the request has finished. */
  removeFiles(): void {
    this.decoded?.close();
    void this.files?.remove();
  }

  private async gather(): Promise<Buffer> {
    const source = this.take();
    const first = await source?.next();
    if (source === undefined || first === undefined) return Buffer.alloc(0);
    if (first.length === this.expectedBytes) return first;
    const gatherer = new ByteGatherer(this.expectedBytes);
    gatherer.add(first);
    while (await source.read((bytes) => gatherer.add(bytes)));
    return gatherer.whole();
  }

  private async parse(): Promise<Form> {
    const source = this.take();
    if (source === undefined) throw new AppError('invalid_multipart', 'The request has no body.');
    const { file, expectedBytes, files } = this;
    const spool = files && {
      memoryBytesMax: file.memoryBytesMax,
      newPath: () => files.newPath(),
      stored: (bytes: number) => source.letGo(bytes),
    };
    return readForm(source, this.contentType, { file, expectedBytes, spool });
  }

  private take(): ByteSource | undefined {
    assert(!this.isTaken, 'a request body is read once');
    this.isTaken = true;
    const decoder = this.source && decoderFor(this.head.contentEncoding);
    if (this.source && decoder) this.decoded = new DecodedSource(this.source, decoder, this.limit, this.bodyMemory);
    return this.decoded ?? this.source;
  }
}

/**
 * Opens the body of a request. Must be called within the route callback, or the first bytes are lost. A chunked body
 * that exceeds the limit of its route fails while it streams.
 */
export function openBody(
  response: WireResponse,
  head: BodyHead,
  kind: Route['body'],
  limits: BodyLimits,
  bodyMemory: BodyMemory,
): IncomingBody {
  const limit = limitOf(kind, head.contentType, limits);
  const source = head.announced === 0 ? undefined : new BodySource(response, limit, bodyMemory);
  const directory = kind === 'document' || isArchive(kind) ? limits.temporaryDirectory : undefined;
  return new IncomingBody(
    head,
    source,
    limit,
    fileLimitOf(kind, limits),
    directory === undefined ? undefined : new TemporaryFiles(directory),
    bodyMemory,
  );
}

/**
 * Marks the promise as handled. A handler may do other work before it awaits its body, and a client that disconnects
 * meanwhile must not cause an unhandled rejection.
 */
function awaitedLater<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

function limitOf(kind: Route['body'], contentType: string, limits: BodyLimits): BodyLimit {
  if (isArchive(kind) || (kind === 'document' && contentType.toLowerCase().startsWith('multipart/'))) {
    const { bytesMax, code } = fileLimitOf(kind, limits);
    return { bytesMax: bytesMax + FORM_FIELDS_BYTES_MAX, clientError: () => tooLarge(code, bytesMax) };
  }
  const bytesMax = {
    none: IGNORED_BODY_BYTES_MAX,
    json: limits.jsonBytesMax,
    search: limits.searchBytesMax,
    message: limits.messageBytesMax,
    document: limits.documentBytesMax,
    batch: limits.batchBytesMax,
    lines: isLines(contentType) ? Infinity : limits.batchBytesMax,
  }[kind];
  return { bytesMax, clientError: () => tooLarge('request_too_large', bytesMax) };
}

/** Whether the body is NDJSON, whose lines are bounded one by one by their reader. */
function isLines(contentType: string): boolean {
  return /^application\/x-ndjson *(;|$)/i.test(contentType);
}

function tooLarge(code: 'request_too_large' | FileLimit['code'], limitBytes: number): AppError {
  return new AppError(code, undefined, { details: { limit_bytes: limitBytes } });
}
