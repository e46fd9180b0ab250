// How the conformance tests describe an endpoint: its row in the specification, a request that succeeds, and requests
// for the statuses that only this endpoint can produce. The rows are in endpoints/; stage.ts sends the requests.
import type { ReindexStatus } from '../../../src/api/reindex.js';
import type { Shape } from './shapes.js';

export interface Request {
  readonly path: string;
  /** Sent as JSON unless it is text or a form. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * What requests can name. It is made once on each server, through the API. Beside it there is a collection `vectors` of
 * 3 dimensions.
 */
export interface Scene {
  readonly tenant: string;
  /** A collection with the document below, and with one search in its query log. */
  readonly collection: string;
  readonly docid: string;
  readonly rid: string;
  readonly queryId: string;
  /** Makes a new, empty collection and returns its name, for requests that use a collection up. */
  fresh(): Promise<string>;
  /**
   * Makes a new collection with a reindex job that has this status. Where no job can be made, the result names a
   * collection and a job that do not exist.
   */
  job(status: ReindexStatus): Promise<{ collection: string; id: string }>;
  /** The bytes of a path, requested with the admin key. */
  download(path: string): Promise<Uint8Array>;
}

export type Compose = (scene: Scene) => Request | Promise<Request>;

export interface Endpoint {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path as the specification writes it. */
  readonly path: string;
  /** Who may call the endpoint. `any` accepts a key of any tenant that has the scope `search`. */
  readonly access: 'public' | 'admin' | 'tenant' | 'any';
  readonly success: number;
  /** The column "Other statuses" of the row. */
  readonly others: readonly number[];
  /** The shape of the answer, or the start of its content type where it is not JSON. */
  readonly answer: Shape | string;
  readonly valid: Compose;
  /** Requests for the statuses 400, 404, 409, 413 and 422. statuses.ts produces the others for every endpoint alike. */
  readonly provoke?: Readonly<Record<number, Compose>>;
  /** Statuses of the row that the server never gives, and why. */
  readonly never?: Readonly<Record<number, string>>;
}

export const nameOf = ({ method, path }: Endpoint): string => `${method} ${path}`;

// Path segments that cause client errors, and the lists of statuses that many rows of the specification share.

/** Not a slug: it has a space. */
export const NO_SLUG = 'no%20slug';
/** Not text: a byte that never occurs in UTF-8. */
export const BAD_SEGMENT = '%FF';
/** A UUIDv7 that names nothing. */
export const UNKNOWN_ID = '01900000-0000-7000-8000-000000000000';

export const READ = [401, 403, 422, 429, 500];
export const READ_ONE = [401, 403, 404, 422, 429, 500];
export const SEARCH = [401, 403, 422, 429, 500, 503];
