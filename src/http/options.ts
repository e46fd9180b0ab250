// What the composer gives the HTTP server, and what the server tells back: limits, authentication, and where to
// send the event of each request. Types only.
import type { RequestEvent, Tracer } from '../base/trace.js';
import type { Permit } from '../service/tenants/actor.js';
import type { Authenticate } from '../service/tenants/auth.js';
import type { BodyLimits } from './body.js';
import type { Actor, Route } from './route.js';
import type { SiteGuard } from './site-guard.js';

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

export interface HttpServerOptions {
  readonly routes: readonly Route[];
  /** Finds who calls and whether they may; throws AppError (401, 403). Asked for public routes too. */
  readonly authenticate: Authenticate;
  /** Throws 403 for pages of other sites. Absent: the keys keep them out. */
  readonly guardSite?: SiteGuard | undefined;
  /**
   * Takes a place for a request on a limited route. `tenant` is the one of the path; undefined
   * where the path has none. Throws 429 `tenant_rate_limited`. Absent: no limits.
   */
  readonly admit?: (actor: Actor, tenant: string | undefined) => Permit;
  readonly limits: HttpLimits;
  /** Paths of PEM files for HTTPS, which have been checked. Absent: plain HTTP. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string } | undefined;
  readonly log: (event: RequestEvent) => void;
  /** Absent: nothing is traced. */
  readonly tracer?: Tracer | undefined;
  /** Told of everything thrown that is not an AppError: faults of ours, of which the client learns nothing. */
  readonly onFault: (error: unknown, requestId: string) => void;
}
