// What the HTTP server knows of a route, what a handler is given, and what it answers. The server itself knows none of
// the routes of the table (routes.ts).
import { invalidField } from '../api/errors.js';
import { type CollectionName, type Tenant, asCollectionName, asTenant } from '../api/ids.js';
import type { JsonOperations, RouteDefinition } from '../api/route.js';
import type { Departure } from '../base/signals.js';
import type { Phases } from '../base/trace.js';
import type { Actor } from '../service/tenants/actor.js';

export type { Actor };

/** What the server must know of a route: its definition without what is said of bodies, and what answers it. */
export interface Route
  extends Pick<
    RouteDefinition,
    'operation' | 'method' | 'path' | 'access' | 'scope' | 'keeps400' | 'isLimited' | 'body' | 'isLong'
  > {
  /** Those that the query string may have; undefined where it may have any. */
  readonly parameters?: ReadonlySet<string> | undefined;
  readonly handle: Handler;
}

/** A route of the table: its whole definition, and what answers it. */
export interface DefinedRoute extends RouteDefinition, Pick<Route, 'parameters' | 'handle'> {}

/** The handlers of an area: of all routes that no use case answers by itself. */
export type OwnHandlers<Routes> = { readonly [O in Exclude<keyof Routes, JsonOperations<Routes>>]: Handler };

export type Handler = (request: Request) => Promise<Reply>;

/** A request that has been matched, authenticated and admitted. All of it is copied: valid across awaits. */
export interface Request {
  readonly id: string;
  readonly route: Route;
  /** performance.now() when the head arrived. */
  readonly startedAtMs: number;
  /** Decoded path parameters; the path was split first. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Header value by lower-case name; '' when absent. */
  header(name: string): string;
  readonly actor: Actor;
  readonly body: Body;
  /** For calls of other machines; undefined where nothing is traced. */
  readonly trace?: { readonly traceparent: string } | undefined;
  /** True once the client has gone; long work may stop. */
  readonly aborted: boolean;
  /** Aborted when that becomes true. Made when it is first asked for. */
  readonly signal: AbortSignal;
  /** The same for those who only wait in a line: it costs nothing. */
  readonly departure: Departure;
}

/**
 * The request body; exactly one of its methods may be called, once. All reject with AppError; nothing is held beyond
 * the limit.
 */
export interface Body {
  readonly contentType: string;
  /** Whether it has ended without a byte. */
  readonly isEmpty: boolean;
  /** The whole body. Empty when there was none. 413 `request_too_large` over the route's limit. */
  bytes(): Promise<Buffer>;
  /**
   * A multipart/form-data body with at most one file. 400 `invalid_multipart` when malformed or cut off, 413
   * `file_too_large`.
   */
  form(): Promise<Form>;
  /**
   * The bytes as they come, each piece good until the next is asked for; the socket is held back while nobody takes
   * them.
   */
  stream(): AsyncIterable<Uint8Array>;
}

export interface Form {
  readonly fields: ReadonlyMap<string, string>;
  readonly file?: FormFile;
}

/** In memory up to 1 MiB; else in a temporary file, which is removed when the request is over. */
type FormFile = { readonly name: string; readonly type: string } & (
  | { readonly bytes: Buffer }
  | { readonly path: string }
);

interface ReplyHead {
  readonly status: number;
  /** Beside Content-Type and X-Request-ID. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** What it took, for the log and the trace. */
  readonly phases?: Phases | undefined;
}

/** What a handler answers. The server adds `ok`, `latency_ms` and `request_id` to JSON, and X-Request-ID to all. */
export type Reply = ReplyHead &
  (
    | { readonly json: object }
    /**
     * Ready pieces of one JSON object text without its closing brace, never empty of fields: `{"matches":[`, …, `]`.
     */
    | { readonly jsonParts: readonly (string | Uint8Array)[] }
    /** The same, written as it comes. A failure after the first piece cuts the connection. */
    | { readonly jsonStream: AsyncIterable<string> }
    | { readonly bytes: Uint8Array; readonly contentType: string }
    /** Bytes written as they come: NDJSON, archives. A failure after the first piece cuts the connection. */
    | { readonly stream: AsyncIterable<string | Uint8Array>; readonly contentType: string }
  );

// Path parameters as the ids that they are. Throws AppError for bad slugs.

export const tenantOf = ({ params }: Request): Tenant => asTenant(params.tenant ?? '');

/** Tenant and collection; the specification calls the latter {name} here and {collection} there. */
export function collectionOf(request: Request): [Tenant, CollectionName] {
  const tenant = tenantOf(request);
  return [tenant, asCollectionName(request.params.name ?? request.params.collection ?? '')];
}

export const param = ({ params }: Request, name: string): string => params[name] ?? '';

// What a query string says beside text: flags and numbers. What is neither is refused, or left as text for the
// validation to refuse. Pure.

/** False where it is absent. Throws 422 for what is neither true nor false. */
export function flag({ query }: Pick<Request, 'query'>, name: string): boolean {
  const wanted = query.get(name)?.toLowerCase() ?? 'false';
  if (['true', '1'].includes(wanted)) return true;
  if (['false', '0'].includes(wanted)) return false;
  throw invalidField(['query', name], 'Should be true or false.', 'bool_parsing', wanted.slice(0, 200));
}

/** All of it, as numbers where `names` say so and they are whole ones. */
export function numbersIn(query: URLSearchParams, ...names: readonly string[]): Record<string, unknown> {
  const values: Record<string, unknown> = Object.fromEntries(query);
  for (const name of names) if (/^-?\d{1,15}$/.test(query.get(name) ?? '')) values[name] = Number(values[name]);
  return values;
}
