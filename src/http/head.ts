// The head of a request, copied out of the library's buffers while they are valid. Made by server.ts for each request.
// Front thread.
import { invalidField } from '../contract/errors.js';
import type { Announced } from './afterwards.js';
import type { RequestEvent } from './options.js';
import type { WireRequest } from './wire.js';

const LOGGED_METHODS: ReadonlyMap<string, RequestEvent['method']> = new Map(
  (['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const).map((method) => [
    method.toLowerCase(),
    method,
  ]),
);

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

  get isHead(): boolean {
    return this.method === 'head';
  }

  /** The method as the log names it: clients may invent as many others as they like. */
  get loggedMethod(): RequestEvent['method'] {
    return LOGGED_METHODS.get(this.method) ?? 'OTHER';
  }

  /** Throws 422 where two readers could disagree on where the body ends: such a request may hide another one inside. */
  announcedBody(): Announced {
    const coding = this.header('transfer-encoding');
    if (coding.toLowerCase() === 'chunked') return 'chunked';
    if (coding !== '')
      throw invalidField(['header', 'transfer-encoding'], 'only `chunked` is understood', 'value_error');
    const length = this.header('content-length');
    for (let at = 0; at < this.headers.length; at += 2) {
      const isOther = this.headers[at] === 'content-length' && this.headers[at + 1] !== length;
      if (isOther) throw invalidField(['header', 'content-length'], 'given twice with different values', 'value_error');
    }
    return Number(length);
  }
}
