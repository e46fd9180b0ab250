// What the methods of the client are made of: a JSON answer, a text, and a listing page by page. Used by client.ts and
// the areas beside it.
import type { CommonFields } from '../contract/api/common.js';
import { SheafError } from './errors.js';
import {
  createTransport,
  type CallOptions,
  type Exchange,
  type Transport,
  type TransportOptions,
  type UploadExchange,
} from './transport.js';

/** An answer with the fields that all have. */
export type Answered<T> = T & CommonFields;

export interface PageOptions extends CallOptions {
  /** Entries of a page at most. Without it a listing is whole. */
  limit?: number;
  /** `next_cursor` of the page before. */
  cursor?: string;
}

/** Entries that are asked for at a time by the iterators. */
const PAGE_LENGTH = 1000;

export class Calls {
  readonly transport: Transport;

  constructor(options: TransportOptions) {
    this.transport = createTransport(options);
  }

  text(exchange: Exchange): Promise<string> {
    return this.transport.text(exchange);
  }

  async json<T>(exchange: Exchange): Promise<Answered<T>> {
    return parsed<T>(await this.text(exchange));
  }

  get<T>(path: readonly string[], call?: CallOptions): Promise<Answered<T>> {
    return this.json({ method: 'GET', path, ...call });
  }

  post<T>(path: readonly string[], body: object | undefined, call?: CallOptions): Promise<Answered<T>> {
    return this.json({ method: 'POST', path, body, ...call });
  }

  patch<T>(path: readonly string[], body: object, call?: CallOptions): Promise<Answered<T>> {
    return this.json({ method: 'PATCH', path, body, ...call });
  }

  delete<T>(path: readonly string[], call?: CallOptions): Promise<Answered<T>> {
    return this.json({ method: 'DELETE', path, ...call });
  }

  async upload<T>(exchange: UploadExchange): Promise<Answered<T>> {
    return parsed<T>(await this.transport.upload(exchange));
  }

  page<T>(path: readonly string[], { limit, cursor, ...call }: PageOptions = {}): Promise<Answered<T>> {
    return this.json({ method: 'GET', path, query: { limit, cursor }, ...call });
  }

  /** The entries of all pages; the next page is asked for when it is wanted. `limit` is the length of a page. */
  async *each<T, P extends { next_cursor?: string }>(
    ask: (options: PageOptions) => Promise<P>,
    entries: (page: P) => readonly T[],
    options: PageOptions = {},
  ): AsyncGenerator<T, void> {
    let cursor = options.cursor;
    do {
      const page: P = await ask({ limit: PAGE_LENGTH, ...options, cursor });
      yield* entries(page);
      cursor = page.next_cursor;
    } while (cursor !== undefined);
  }
}

function parsed<T>(text: string): Answered<T> {
  try {
    const answer = JSON.parse(text) as Partial<Answered<T>> | null;
    // All of Sheaf's have it.
    if (typeof answer?.ok === 'boolean') return answer as Answered<T>;
  } catch {
    // Told below, like what is JSON and no answer of Sheaf.
  }
  throw new SheafError(200, 'http_error', 'The answer is none of Sheaf: another program listens there.');
}

export const collectionPath = (tenant: string, collection: string, ...rest: string[]): string[] => [
  'v1',
  'collections',
  tenant,
  collection,
  ...rest,
];
