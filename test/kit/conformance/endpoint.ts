// What the conformance tests know of an endpoint: its row in the specification, a request that succeeds, and requests
// for the statuses that only this endpoint can provoke. The rows are in endpoints/; stage.ts carries the requests out.
import type { ReindexStatus } from '../../../src/api/reindex.js';
import type { Shape } from './shapes.js';

export interface Request {
  readonly path: string;
  /** Sent as JSON unless text or a form. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * What is there for requests to name, made once on each server through the interface itself; beside it `vectors`, of 3
 * dimensions.
 */
export interface Scene {
  readonly tenant: string;
  /** A collection with the document below, and a search in its log. */
  readonly collection: string;
  readonly docid: string;
  readonly rid: string;
  readonly queryId: string;
  /** Makes a new, empty collection and gives its name: for requests that use one up. */
  fresh(): Promise<string>;
  /**
   * Makes a new collection with a reindex job that shows this status; where nothing can be made, names of what is not
   * there.
   */
  job(status: ReindexStatus): Promise<{ collection: string; id: string }>;
  /** What is there, by the admin's key. */
  download(path: string): Promise<Uint8Array>;
}

export type Compose = (scene: Scene) => Request | Promise<Request>;

export interface Endpoint {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** As the specification writes it. */
  readonly path: string;
  /** Who may call it: `any` takes a key of any tenant, but it needs the scope `search`. */
  readonly access: 'public' | 'admin' | 'tenant' | 'any';
  readonly success: number;
  /** "Other statuses" of the row. */
  readonly others: readonly number[];
  /** A shape, or the start of the content type where the answer is no JSON. */
  readonly answer: Shape | string;
  readonly valid: Compose;
  /** Only for what no rule of statuses.ts makes for every endpoint alike: 400, 404, 409, 413, 422. */
  readonly provoke?: Readonly<Record<number, Compose>>;
  /** Statuses of the row that the server has no occasion for, and why. */
  readonly never?: Readonly<Record<number, string>>;
}

export const nameOf = ({ method, path }: Endpoint): string => `${method} ${path}`;

// Path segments that provoke errors for the client, and the status lists that many rows of the specification share.

/** No slug: a space. */
export const NO_SLUG = 'no%20slug';
/** No text at all: a byte that no UTF-8 has. */
export const BAD_SEGMENT = '%FF';
/** A UUIDv7 that nobody has made. */
export const UNKNOWN_ID = '01900000-0000-7000-8000-000000000000';

export const READ = [401, 403, 422, 429, 500];
export const READ_ONE = [401, 403, 404, 422, 429, 500];
export const SEARCH = [401, 403, 422, 429, 500, 503];
