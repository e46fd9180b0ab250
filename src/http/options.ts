// Options of the HTTP server: limits, authentication, and the callbacks for events and errors. Types only.
import type { RequestEvent, Tracer } from '../base/trace.js';
import type { Permit } from '../service/tenants/actor.js';
import type { Authenticate } from '../service/tenants/auth.js';
import type { AdmissionMemory } from './admission.js';
import type { BodyLimits } from './body.js';
import type { Consistency } from './consistency.js';
import type { Cors } from './cors.js';
import type { Actor, Route } from './route.js';
import type { SiteGuard } from './site-guard.js';

export interface HttpLimits extends BodyLimits {
  /** Requests in progress in the whole server, except on public routes. */
  readonly inFlightMax: number;
  /** Body bytes in memory, of all requests together. A body that exceeds this fails with 503 `overloaded`. */
  readonly heldBytesMax: number;
  /**
   * A client that has announced body bytes and sends none for this long is cut off. uWebSockets.js cuts it off after 12
   * s in any case.
   */
  readonly bodyTimeoutMs: number;
  /**
   * A request that is unanswered after this time gets 503 `overloaded`, and its handler sees `aborted`. Absent: no
   * bound.
   */
  readonly requestTimeoutMs?: number;
}

export interface HttpServerOptions {
  readonly routes: readonly Route[];
  /** Identifies the caller and checks its access. Throws AppError (401, 403). Also called for public routes. */
  readonly authenticate: Authenticate;
  /** Throws 403 for pages of other sites. Absent where keys protect the server. */
  readonly guardSite?: SiteGuard | undefined;
  /** Absent: pages of other origins cannot read answers. */
  readonly cors?: Cors | undefined;
  /**
   * Rate limiting of a request on a limited route. `tenant` is the tenant in the path, or undefined if the path has
   * none. Throws 429 `tenant_rate_limited`. Absent: no limits.
   */
  readonly admit?: (actor: Actor, tenant: string | undefined) => Permit;
  readonly limits: HttpLimits;
  /** How far the node has applied the command log. Absent on a single machine. */
  readonly consistency?: Consistency | undefined;
  /** Where the threads count together, and the index of this one. Absent: this thread counts alone. */
  /** Called with the number of requests in progress whenever it changes. */
  readonly counted?: ((underWay: number) => void) | undefined;
  readonly shared?: { readonly limits: AdmissionMemory; readonly stripe: number };
  /** Paths of the PEM files for HTTPS; the caller has validated them. Absent: plain HTTP. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string } | undefined;
  readonly log: (event: RequestEvent) => void;
  /** Absent: requests are not traced. */
  readonly tracer?: Tracer | undefined;
  /**
   * Called with everything thrown that is not an AppError. These are internal errors, whose details clients never see.
   */
  readonly onInternalError: (error: unknown, requestId: string) => void;
}
