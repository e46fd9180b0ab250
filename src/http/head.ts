// The head of a request, copied out of the library's buffers while they are valid. Made by server.ts for each request.
// Front thread.
import { AppError, invalidField } from '../contract/errors.js';
import type { Announced } from './afterwards.js';
import type { RequestEvent } from './options.js';
import type { WireRequest } from './wire.js';

const LOGGED_METHODS: ReadonlyMap<string, RequestEvent['method']> = new Map(
  (['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const).map((method) => [
    method.toLowerCase(),
    method,
  ]),
);

/** Spaces, version and line end. */
const REQUEST_LINE_BYTES = 12;

export class Head {
  /** Names and values in turn, in the order of arrival. */
  private readonly headers: string[] = [];
  /** Lower case, as the library gives it. */
  readonly method: string;
  /** Still percent-encoded. */
  readonly path: string;
  /** Still percent-encoded, without the question mark. */
  readonly queryText: string;

  constructor(request: WireRequest) {
    this.method = request.getMethod();
    this.path = request.getUrl();
    this.queryText = request.getQuery() ?? '';
    request.forEach((name, value) => this.headers.push(name, value));
  }

  /** The first value of a header by its lower-case name; '' when absent. */
  header(name: string): string {
    for (let at = 0; at < this.headers.length; at += 2)
      if (this.headers[at] === name) return this.headers[at + 1] ?? '';
    return '';
  }

  /** All values of a header that is a list, with commas between; '' when absent. */
  list(name: string): string {
    return this.all(name).join(', ');
  }

  get isHead(): boolean {
    return this.method === 'head';
  }

  /** The method as the log names it: clients may invent as many others as they like. */
  get loggedMethod(): RequestEvent['method'] {
    return LOGGED_METHODS.get(this.method) ?? 'OTHER';
  }

  /** About what it takes on the wire. */
  get bytes(): number {
    const line = this.method.length + this.path.length + this.queryText.length;
    return this.headers.reduce((sum, { length }) => sum + length + 2, line + REQUEST_LINE_BYTES);
  }

  /**
   * Throws 422, or 400 for no host or no length, where two readers could disagree on whose request it is or where its body ends: it may hide another one
   * inside. An empty header is not an absent one.
   */
  announcedBody(): Announced {
    const [codings, lengths] = [this.all('transfer-encoding'), this.all('content-length')];
    const [coding, length] = [codings[0], lengths[0]];
    const hosts = this.all('host');
    if (hosts.length !== 1 || hosts[0] === '') throw new AppError('invalid_request', 'The header Host is wanted once.');
    if (codings.length > 1 || (coding !== undefined && coding.toLowerCase() !== 'chunked'))
      throw unclear('transfer-encoding', 'only `chunked` is understood, given once');
    if (coding !== undefined && length !== undefined)
      throw unclear('content-length', 'is not given beside transfer-encoding');
    if (lengths.some((other) => other !== length)) throw unclear('content-length', 'given twice with different values');
    if (length !== undefined && !/^\d{1,15}$/.test(length))
      throw new AppError('invalid_request', 'The header Content-Length should be a number of bytes.');
    return coding === undefined ? Number(length ?? 0) : 'chunked';
  }

  private all(name: string): string[] {
    return this.headers.filter((_, at) => at % 2 === 1 && this.headers[at - 1] === name);
  }
}

const unclear = (name: string, msg: string): Error => invalidField(['header', name], msg, 'value_error');
