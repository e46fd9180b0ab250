// The part of the client that is about reindex jobs, and going back: `client.reindex`.
// Made by client.ts; an endpoint a method. Pausing, resuming and the list of all want the admin key.
import type { ReindexBody, ReindexJob, ReindexJobList, RolledBack } from '../contract/api/reindex.js';
import { collectionPath, type Answered, type Calls } from './calls.js';
import type { CallOptions } from './transport.js';

export class ReindexCalls {
  constructor(private readonly calls: Calls) {}

  /** Answers when the job is there, not when it is done. */
  start(tenant: string, collection: string, body: ReindexBody, call?: CallOptions): Promise<Answered<ReindexJob>> {
    return this.calls.post(collectionPath(tenant, collection, 'reindex'), body, call);
  }

  /** Newest first. */
  list(tenant: string, collection: string, call?: CallOptions): Promise<Answered<ReindexJobList>> {
    return this.calls.get(collectionPath(tenant, collection, 'reindex'), call);
  }

  /** Of all tenants and collections, those that are gone too. Wants the admin key. */
  listAll(call?: CallOptions): Promise<Answered<ReindexJobList>> {
    return this.calls.get(['v1', 'admin', 'reindex'], call);
  }

  get(tenant: string, collection: string, jobId: string, call?: CallOptions): Promise<Answered<ReindexJob>> {
    return this.calls.get(collectionPath(tenant, collection, 'reindex', jobId), call);
  }

  cancel(tenant: string, collection: string, jobId: string, call?: CallOptions): Promise<Answered<ReindexJob>> {
    return this.calls.delete(collectionPath(tenant, collection, 'reindex', jobId), call);
  }

  pause(jobId: string, call?: CallOptions): Promise<Answered<ReindexJob>> {
    return this.calls.post(['v1', 'admin', 'reindex', jobId, 'pause'], undefined, call);
  }

  resume(jobId: string, call?: CallOptions): Promise<Answered<ReindexJob>> {
    return this.calls.post(['v1', 'admin', 'reindex', jobId, 'resume'], undefined, call);
  }

  /** Back to the space before, while it is kept. */
  rollBack(tenant: string, collection: string, call?: CallOptions): Promise<Answered<RolledBack>> {
    return this.calls.post(collectionPath(tenant, collection, 'rollback'), undefined, call);
  }
}
