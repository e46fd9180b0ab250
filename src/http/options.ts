// What the composer gives the HTTP server, and what the server tells back: limits, authentication, one event a request.
// Types only.
import type { Phases, Tracer } from '../base/trace.js';
import type { Permit } from '../service/tenants/actor.js';
import type { Authenticate } from '../service/tenants/auth.js';
import type { BodyLimits } from './body.js';
import type { Actor, Method, Route } from './route.js';
import type { SiteGuard } from './site-guard.js';
import type { TlsFiles } from '../config/tls.js';

export interface HttpLimits extends BodyLimits {
  /** Requests under way in the whole server; those of public routes do not count. */
  readonly inFlightMax: number;
  /** Bytes of bodies in memory, of all requests together; what does not fit is refused with 503 `overloaded`. */
  readonly heldBytesMax: number;
  /**
   * A client that owes body bytes and sends none for so long is cut off. The library cuts it off after 12 s in any
   * case.
   */
  readonly bodyTimeoutMs: number;
  /** A request unanswered for so long gets 503 `overloaded`; its handler sees `aborted`. Absent: no bound. */
  readonly requestTimeoutMs?: number;
}

/**
 * How a request ended: with a reply handed over in full, with the client gone before that, cut off for a stalled body,
 * or by a failure after the reply had begun.
 */
export type Outcome = 'answered' | 'aborted' | 'body_timeout' | 'failed';

/** One finished request, for the log and the metrics. */
export interface RequestEvent {
  readonly id: string;
  /** OTHER stands for every method that is not in use: clients may invent as many as they like. */
  readonly method: Method | 'HEAD' | 'OPTIONS' | 'OTHER';
  /** Path template of the route; '' where none was found. */
  readonly route: string;
  /** 0 when the client was gone before a reply was made. */
  readonly status: number;
  readonly latencyMs: number;
  /** Name of who called; '' before authentication. */
  readonly actor: string;
  /** Of the path; '' where it has none, or who called is not known. */
  readonly tenant: string;
  /** Bytes of the reply's body. */
  readonly bytes: number;
  readonly outcome: Outcome;
  /** Takes its time by nature: an archive, or a streamed reply. */
  readonly isLong: boolean;
  /** Of an error. */
  readonly code?: string;
  /** Of a search or an ingest that succeeded. */
  readonly phases?: Phases;
  readonly traceId?: string;
}

export interface HttpServerOptions {
  readonly routes: readonly Route[];
  /** Finds who calls and whether they may; throws AppError (401, 403). Asked for public routes too. */
  readonly authenticate: Authenticate;
  /** Throws 403 for pages of other sites. Absent: the keys keep them out. */
  readonly guardSite?: SiteGuard | undefined;
  /**
   * Takes a place for a request on a limited route (429 among its statuses). `tenant` is the one of the path; undefined
   * where the path has none. Throws 429 `tenant_rate_limited`. Absent: no limits.
   */
  readonly admit?: (actor: Actor, tenant: string | undefined) => Permit;
  readonly limits: HttpLimits;
  /** For HTTPS; the files have been checked. Absent: plain HTTP. */
  readonly tls?: TlsFiles | undefined;
  readonly log: (event: RequestEvent) => void;
  /** Absent: nothing is traced. */
  readonly tracer?: Tracer | undefined;
  /** Told of everything thrown that is not an AppError: faults of ours, of which the client learns nothing. */
  readonly onFault: (error: unknown, requestId: string) => void;
}
