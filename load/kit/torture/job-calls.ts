// The reindex endpoints, an endpoint a method, over the client's own transport.
// Used by the files of the torture program.
import type { ReindexBody, ReindexJob, ReindexJobList, RolledBack } from '../../../src/contract/api/reindex.js';
import { Calls, collectionPath } from '../../../src/client/calls.js';

export type Control = 'pause' | 'resume' | 'cancel';

const JOBS = ['v1', 'admin', 'reindex'];

export class JobCalls {
  private readonly calls: Calls;

  constructor(url: string) {
    this.calls = new Calls({ url });
  }

  start(tenant: string, name: string, body: ReindexBody): Promise<ReindexJob> {
    return this.calls.post(collectionPath(tenant, name, 'reindex'), body);
  }

  /** Of a collection, newest first. */
  async list(tenant: string, name: string): Promise<readonly ReindexJob[]> {
    return (await this.calls.get<ReindexJobList>(collectionPath(tenant, name, 'reindex'))).jobs;
  }

  /** Of all collections, those that are gone too. */
  async listAll(): Promise<readonly ReindexJob[]> {
    return (await this.calls.get<ReindexJobList>(JOBS)).jobs;
  }

  control(id: string, wish: Control): Promise<ReindexJob> {
    return wish === 'cancel' ? this.calls.delete([...JOBS, id]) : this.calls.post([...JOBS, id, wish], undefined);
  }

  rollBack(tenant: string, name: string): Promise<RolledBack> {
    return this.calls.post(collectionPath(tenant, name, 'rollback'), undefined);
  }
}
