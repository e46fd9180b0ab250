// Routes, requests and replies as handlers see them. The server is independent of the concrete routes (routes.ts).
import { AppError, type ValidationDetail, invalidField } from '../api/errors.js';
import { type CollectionName, type Tenant, asCollectionName, asTenant } from '../api/ids.js';
import { REPORTED_NAME_CHARACTERS_MAX } from '../api/limits.js';
import type { JsonOperations, RouteDefinition } from '../api/route.js';
import type { CancelSource } from '../base/signals.js';
import type { Phases } from '../base/trace.js';
import type { Actor } from '../service/tenants/actor.js';

export type { Actor };

/** What the server needs of a route: its definition without body schemas, and its handler. */
export interface Route
  extends Pick<
    RouteDefinition,
    'operation' | 'method' | 'path' | 'access' | 'scope' | 'keeps400' | 'isLimited' | 'body' | 'msgpack' | 'isLong'
  > {
  /** Permitted query parameters; undefined if any are permitted. */
  readonly parameters?: ReadonlySet<string> | undefined;
  readonly handle: Handler;
}

/** A route of the table: its complete definition and its handler. */
export interface DefinedRoute extends RouteDefinition, Pick<Route, 'parameters' | 'handle'> {}

/** The handlers of an area, one for each route that no use case answers. */
export type OwnHandlers<Routes> = { readonly [O in Exclude<keyof Routes, JsonOperations<Routes>>]: Handler };

export type Handler = (request: Request) => Promise<Reply>;

/** A request that has been matched, authenticated and admitted. Everything is copied, so it is valid across awaits. */
export interface Request {
  readonly id: string;
  readonly route: Route;
  /** `performance.now()` when the head arrived. */
  readonly startedAtMs: number;
  /** Path parameters, decoded after the path was split. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** A header by its lower-case name; '' if absent. */
  header(name: string): string;
  /** Names in lower case and values, alternately, in the order of arrival. */
  readonly headerList: readonly string[];
  readonly actor: Actor;
  /** Counts further requests for the tenant's rate limit, such as the searches of a batch. */
  charge(requests: number): void;
  readonly body: Body;
  /** Trace context for calls of other servers; undefined if the request is not traced. */
  readonly trace?: { readonly traceparent: string } | undefined;
  /** True once the client has disconnected; long work may then stop. */
  readonly aborted: boolean;
  /** Aborted when `aborted` becomes true. Created on first use. */
  readonly signal: AbortSignal;
  /** A cancel signal with the same meaning but without the cost of an AbortSignal. */
  readonly cancelSource: CancelSource;
}

/**
 * The request body. Exactly one of its methods may be called, once. All reject with AppError; nothing beyond the limit
 * is kept.
 */
export interface Body {
  readonly contentType: string;
  /** Whether the body has ended without a byte. */
  readonly isEmpty: boolean;
  /** The whole body; empty if there is none. Rejects with 413 `request_too_large` over the route's limit. */
  bytes(): Promise<Buffer>;
  /**
   * A multipart/form-data body with at most one file. Rejects with 400 `invalid_multipart` if it is malformed or
   * truncated, and 413 `file_too_large`.
   */
  form(): Promise<Form>;
  /**
   * The bytes as they arrive. Each piece is valid until the next one is requested; the socket is paused while none is.
   */
  stream(): AsyncIterable<Uint8Array>;
}

export interface Form {
  readonly fields: ReadonlyMap<string, string>;
  readonly file?: FormFile;
}

/** In memory up to 1 MiB, else in a temporary file that is deleted when the request is over. */
type FormFile = { readonly name: string; readonly type: string } & (
  | { readonly bytes: Buffer }
  | { readonly path: string }
);

interface ReplyHead {
  readonly status: number;
  /** Headers besides Content-Type and X-Request-ID. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Times of the phases, for the log and the trace. */
  readonly phases?: Phases | undefined;
}

/**
 * The reply of a handler. The server adds `ok`, `latency_ms` and `request_id` to JSON, and X-Request-ID to all replies.
 */
export type Reply = ReplyHead &
  (
    | { readonly json: object }
    /**
     * Serialized pieces of one JSON object without its closing brace, with at least one field: `{"matches":[`, …, `]`.
     */
    | { readonly jsonParts: readonly (string | Uint8Array)[] }
    /** Like `jsonParts`, written as the pieces come. A failure after the first piece closes the connection. */
    | { readonly jsonStream: AsyncIterable<string> }
    | { readonly bytes: Uint8Array; readonly contentType: string }
    /** Bytes written as they come: NDJSON, archives. A failure after the first piece closes the connection. */
    | { readonly stream: AsyncIterable<string | Uint8Array>; readonly contentType: string }
  );

// Path parameters as typed ids. Throws AppError for invalid slugs.

export const tenantOf = ({ params }: Request): Tenant => asTenant(params.tenant ?? '');

/** Tenant and collection. The specification names the collection {name} in some paths and {collection} in others. */
export function collectionOf(request: Request): [Tenant, CollectionName] {
  const tenant = tenantOf(request);
  return [tenant, asCollectionName(request.params.name ?? request.params.collection ?? '')];
}

export const param = ({ params }: Request, name: string): string => params[name] ?? '';

// Typed values of query parameters: flags and numbers. Invalid values are rejected here, or stay text for the
// validation to reject. Pure.

/** A boolean parameter; false if absent. Throws 422 for other values. */
export function flag({ query }: Pick<Request, 'query'>, name: string): boolean {
  const wanted = query.get(name)?.toLowerCase() ?? 'false';
  if (['true', '1'].includes(wanted)) return true;
  if (['false', '0'].includes(wanted)) return false;
  throw invalidField(['query', name], 'Should be true or false.', 'bool_parsing', wanted.slice(0, 200));
}

/** All parameters; those in `names` are converted to numbers if they are whole numbers. */
export function numbersIn(query: URLSearchParams, ...names: readonly string[]): Record<string, unknown> {
  const values: Record<string, unknown> = Object.fromEntries(query);
  for (const name of names) if (/^-?\d{1,15}$/.test(query.get(name) ?? '')) values[name] = Number(values[name]);
  return values;
}

// The permitted query parameters of a route. Pure.

const DETAILS_MAX = 20;

/** Throws a 422 that names the unknown parameters. */
export function checkParameters({ parameters }: Route, query: URLSearchParams): void {
  if (parameters === undefined) return;
  const unknown = new Set([...query.keys()].filter((name) => !parameters.has(name)));
  if (unknown.size > 0) throw clientErrorOf([...unknown]);
}

function clientErrorOf(names: readonly string[]): AppError {
  const told = names.slice(0, DETAILS_MAX).map((name) => name.slice(0, REPORTED_NAME_CHARACTERS_MAX));
  const detail = told.map((name): ValidationDetail => {
    const loc = ['query', name];
    return { loc, msg: 'There is no such parameter.', type: 'extra_forbidden' };
  });
  return new AppError('validation_error', `There is no such parameter: ${told.join(', ')}.`, { detail });
}

/** Adds the set of permitted query parameters. */
export const withParameters = (route: DefinedRoute): DefinedRoute => ({
  ...route,
  ...(!route.ignoresQuery && { parameters: new Set(route.query?.map(({ name }) => name)) }),
});
