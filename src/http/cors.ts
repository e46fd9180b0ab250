// Cross-origin resource sharing: lets pages of the configured origins call the server and read its answers, by the
// CORS protocol of the Fetch standard. Keys travel in a header, never in a cookie, so credentials are not allowed.
// Pure. Runs on front threads and on the main thread.
import type { Reply } from './route.js';

/** Stands for every origin. */
const ANY_ORIGIN = '*';

/** Headers of requests that pages may send beside the few that are always allowed. */
const REQUEST_HEADERS =
  'Authorization, Content-Type, X-API-Key, X-Request-ID, Last-Event-ID, If-None-Match, Idempotency-Key, X-Consistency, Traceparent, Mcp-Session-Id, Mcp-Protocol-Version';
/** Headers of answers that pages may read beside the few that are always exposed. */
const EXPOSED_HEADERS =
  'X-Request-ID, X-Consistency, X-Consistency-Age, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, ETag, Content-Disposition, Mcp-Session-Id';
/** How long a browser may remember what a preflight has answered; browsers cap it at two hours or less. */
const REMEMBERED_S = 7200;

interface Headers {
  /** The value of a header; '' if absent. */
  header(name: string): string;
}

export class Cors {
  private readonly origins: ReadonlySet<string>;

  /** `origins` are as browsers send them, or `*`. At least one is given. */
  constructor(origins: readonly string[]) {
    this.origins = new Set(origins);
  }

  /** The headers of every answer to a request, errors too; undefined if no page of an allowed origin has sent it. */
  headersFor(request: Headers): Readonly<Record<string, string>> | undefined {
    const origin = request.header('origin');
    if (origin === '') return undefined;
    const isAny = this.origins.has(ANY_ORIGIN);
    if (!isAny && !this.origins.has(origin)) return { Vary: 'Origin' };
    return {
      'Access-Control-Allow-Origin': isAny ? ANY_ORIGIN : origin,
      'Access-Control-Expose-Headers': EXPOSED_HEADERS,
      ...(!isAny && { Vary: 'Origin' }),
    };
  }

  /**
   * The answer to a preflight, by which a browser asks whether a page may send a request; undefined for another
   * request. `methods` returns those of the path; it throws 404 if there are none.
   */
  preflight(request: Headers, method: string, methods: () => readonly string[]): Reply | undefined {
    if (method !== 'options' || request.header('origin') === '') return undefined;
    if (request.header('access-control-request-method') === '') return undefined;
    return {
      status: 200,
      headers: {
        'Access-Control-Allow-Methods': methods().join(', '),
        'Access-Control-Allow-Headers': REQUEST_HEADERS,
        'Access-Control-Max-Age': String(REMEMBERED_S),
      },
      bytes: new Uint8Array(),
      contentType: 'text/plain',
    };
  }
}
