// The words between the route table and the HTTP server: what a route declares, what a handler is given, what it
// answers. Types only. The table itself is routes.ts; the server (server.ts) knows no endpoint.
import { invalidField } from '../api/errors.js';
import { type CollectionName, type Tenant, asCollectionName, asTenant } from '../api/ids.js';
import type { Departure } from '../base/signals.js';
import type { Phases } from '../base/trace.js';
import type { Access, Actor, Scope } from '../service/tenants/actor.js';

export type { Actor };

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface Route {
  /** Name of the operation, unique: the key of its entry in the OpenAPI document. */
  readonly operation: string;
  readonly method: Method;
  /** Template: `/v1/collections/{tenant}/{name}/search`. A segment is a literal or one parameter; literals win. */
  readonly path: string;
  readonly access: Access;
  /** What a key or token must be good for, beside its tenant; undefined where any will do. */
  readonly scope?: Scope;
  /**
   * Every status the specification lists for it; an error of status 400 becomes 422 where 400 is not among them. With
   * 429 among them the route is rate limited.
   */
  readonly statuses: readonly number[];
  /**
   * `none`: up to 64 KiB are read and ignored; `json`, `search` and `message` (of MCP): read whole and parsed by the
   * front thread, limits `jsonBytesMax`, `searchBytesMax`, `messageBytesMax`; `document`: limit `documentBytesMax`;
   * `lines`: JSON up to `batchBytesMax`, or NDJSON streamed without a limit of its own; `archive`: a form whose file
   * goes to the disk, limit `archiveBytesMax`; `any_archive`: the same without a limit.
   */
  readonly body: 'none' | 'json' | 'search' | 'message' | 'document' | 'lines' | 'archive' | 'any_archive';
  /** Those of the query string; undefined where any may be given. */
  readonly parameters?: ReadonlySet<string>;
  /** May take as long as it takes, though nothing is answered meanwhile. */
  readonly isLong?: true;
  readonly handle: Handler;
}

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

// Shorthands for the lines of the route table, and the status lists that many lines share (from the specification).
// Used by the other files of this folder.

export const READ = [200, 401, 403, 422, 429, 500];
export const READ_ONE = [200, 401, 403, 404, 422, 429, 500];
export const SEARCH = [200, 401, 403, 422, 429, 500, 503];

export const COLLECTION = '/v1/collections/{tenant}/{name}';

export function open(operation: string, path: string, statuses: readonly number[], handle: Handler): Route {
  return { operation, method: 'GET', path, access: 'public', statuses, body: 'none', handle };
}

/** A read; keys without the scope `search` have none. */
export function get(operation: string, path: string, statuses: readonly number[], handle: Handler): Route {
  return { operation, method: 'GET', path, access: 'tenant', scope: 'search', statuses, body: 'none', handle };
}

export function remove(operation: string, path: string, statuses: readonly number[], handle: Handler): Route {
  return { operation, method: 'DELETE', path, access: 'tenant', statuses, body: 'none', handle };
}

export function post(operation: string, path: string, statuses: readonly number[], handle: Handler): Route {
  return { operation, method: 'POST', path, access: 'tenant', statuses, body: 'json', handle };
}

/** For the admin alone. Scopes are of tenants' routes. */
export function admin({ scope: _scope, ...route }: Route): Route {
  return { ...route, access: 'admin' };
}

// Path parameters as the ids they are.
// Called by the handlers of the other files here, on the front thread; throws AppError for bad slugs.

export const tenantOf = ({ params }: Request): Tenant => asTenant(params.tenant ?? '');

/** Tenant and collection; the specification calls the latter {name} here and {collection} there. */
export function collectionOf(request: Request): [Tenant, CollectionName] {
  const tenant = tenantOf(request);
  return [tenant, asCollectionName(request.params.name ?? request.params.collection ?? '')];
}

export const param = ({ params }: Request, name: string): string => params[name] ?? '';

// What a query string says beside text: flags and numbers. What is neither is refused, or left as text for the
// validation to refuse. Called by the handlers (endpoints/), on the front thread. Pure.

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
