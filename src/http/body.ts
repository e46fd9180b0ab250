// A request's body as handlers see it: whole bytes, or a form, with the limit of the route. Opened by exchange.ts once the
// caller is authenticated and admitted; front thread.
import { assert } from '../base/assert.js';
import { AppError } from '../contract/errors.js';
import type { Announced } from './afterwards.js';
import { BodySource, type BodyLimit } from './body-source.js';
import { ByteGatherer } from './byte-gatherer.js';
import { readForm } from './form.js';
import type { Body, Form, Route } from './route.js';
import type { WireResponse } from './wire.js';

export interface BodyLimits {
  readonly jsonBytesMax: number;
  readonly documentBytesMax: number;
}

export interface BodyHead {
  readonly contentType: string;
  readonly announced: Announced;
}

/** Some clients send a body with GET or DELETE; so much of it is read and thrown away. */
const IGNORED_BODY_BYTES_MAX = 64 * 1024;
/** What a form may hold beside its file: boundaries, part heads and the other fields. */
const FORM_FIELDS_BYTES_MAX = 1024 * 1024;

export class IncomingBody implements Body {
  private isTaken = false;

  constructor(
    private readonly head: BodyHead,
    /** Undefined when the request has no body. */
    readonly source: BodySource | undefined,
    private readonly fileBytesMax: number,
  ) {}

  get contentType(): string {
    return this.head.contentType;
  }

  private get expectedBytes(): number | undefined {
    return this.head.announced === 'chunked' ? undefined : this.head.announced;
  }

  bytes(): Promise<Buffer> {
    return awaitedLater(this.gather());
  }

  form(): Promise<Form> {
    return awaitedLater(this.parse());
  }

  async *stream(): AsyncGenerator<Buffer> {
    const source = this.take();
    if (source !== undefined) yield* source;
  }

  /** Reads the body to its end and keeps nothing. */
  async discard(): Promise<void> {
    const source = this.take();
    while ((await source?.next()) !== undefined);
  }

  private async gather(): Promise<Buffer> {
    const source = this.take();
    const first = await source?.next();
    if (source === undefined || first === undefined) return Buffer.alloc(0);
    const second = await source.next();
    if (second === undefined) return first;
    const gatherer = new ByteGatherer(this.expectedBytes);
    gatherer.add(first);
    gatherer.add(second);
    for await (const chunk of source) gatherer.add(chunk);
    return gatherer.take();
  }

  private async parse(): Promise<Form> {
    const source = this.take();
    if (source === undefined) throw new AppError('invalid_multipart', 'The request has no body.');
    return readForm(source, this.contentType, { fileBytesMax: this.fileBytesMax, expectedBytes: this.expectedBytes });
  }

  private take(): BodySource | undefined {
    assert(!this.isTaken, 'a request body is read once');
    this.isTaken = true;
    return this.source;
  }
}

/**
 * Must be called within the route callback. Throws the 413 of the route at once when the announced length is over its
 * limit; a chunked body fails with it while it streams.
 */
export function openBody(response: WireResponse, head: BodyHead, kind: Route['body'], limits: BodyLimits, hold: BodyLimit['hold']): IncomingBody {
  const { announced } = head;
  const limit = limitOf(kind, head.contentType, limits);
  if (announced !== 'chunked' && announced > limit.bytesMax) throw limit.refusal();
  const source = announced === 0 ? undefined : new BodySource(response, { ...limit, hold });
  return new IncomingBody(head, source, limits.documentBytesMax);
}

/** A handler may do other work before it awaits its body; a client that goes away meanwhile is no unhandled rejection. */
function awaitedLater<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

function limitOf(kind: Route['body'], contentType: string, limits: BodyLimits): Omit<BodyLimit, 'hold'> {
  if (kind === 'document' && contentType.toLowerCase().startsWith('multipart/')) {
    const refusal = (): AppError => tooLarge('file_too_large', limits.documentBytesMax);
    return { bytesMax: limits.documentBytesMax + FORM_FIELDS_BYTES_MAX, refusal };
  }
  const bytesMax = { none: IGNORED_BODY_BYTES_MAX, json: limits.jsonBytesMax, document: limits.documentBytesMax, lines: limits.jsonBytesMax }[kind];
  return { bytesMax, refusal: () => tooLarge('request_too_large', bytesMax) };
}

function tooLarge(code: 'request_too_large' | 'file_too_large', limitBytes: number): AppError {
  return new AppError(code, undefined, { details: { limit_bytes: limitBytes } });
}
