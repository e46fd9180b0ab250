// The part of the client that is about logged searches: `client.queries`.
// Made by client.ts; an endpoint a method.
import type { QueryAnswer, QueryList, QuerySummary, ReplayAnswer } from '../contract/api/queries.js';
import { type Calls, collectionPath, type Answered, type PageOptions } from './calls.js';
import type { CallOptions } from './transport.js';

export interface QueryPageOptions extends PageOptions {
  /** How many of the latest are left out. */
  offset?: number;
}

/** Entries that the iterator asks for at a time: what the server gives at most. */
const PAGE_LENGTH = 500;

export class QueryCalls {
  constructor(private readonly calls: Calls) {}

  /** The latest first; 50 of them where there is no `limit`. */
  list(
    tenant: string,
    collection: string,
    { limit, offset, cursor, ...call }: QueryPageOptions = {},
  ): Promise<Answered<QueryList>> {
    return this.calls.json({
      method: 'GET',
      path: collectionPath(tenant, collection, 'queries'),
      query: { limit, offset, cursor },
      ...call,
    });
  }

  /** All of them, the latest first, page by page. */
  each(tenant: string, collection: string, options?: PageOptions): AsyncGenerator<QuerySummary, void> {
    return this.calls.each(
      (page) => this.list(tenant, collection, page),
      ({ queries }) => queries,
      { limit: PAGE_LENGTH, ...options },
    );
  }

  get(tenant: string, collection: string, queryId: string, call?: CallOptions): Promise<Answered<QueryAnswer>> {
    return this.calls.get(collectionPath(tenant, collection, 'queries', queryId), call);
  }

  /** Searches again, on the documents of now; a new entry is logged. */
  replay(tenant: string, collection: string, queryId: string, call?: CallOptions): Promise<Answered<ReplayAnswer>> {
    return this.calls.post(collectionPath(tenant, collection, 'queries', queryId, 'replay'), undefined, call);
  }
}
