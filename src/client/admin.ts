// The part of the client that wants the admin key: `client.admin`.
// Made by client.ts; an endpoint a method.
import type { MovedCollection } from '../contract/api/collections.js';
import type { MetricsReset } from '../contract/api/health.js';
import type { QueryAnswer, ReplayAnswer } from '../contract/api/queries.js';
import type {
  CreatedKey,
  CreatedTenant,
  CreateKeyBody,
  CreateTenantBody,
  DeletedTenant,
  EmbedderInventory,
  KeyList,
  RevokedKey,
  TenantList,
  TenantProfile,
  UpdateTenantBody,
} from '../contract/api/tenants.js';
import type { Answered, Calls } from './calls.js';
import type { CallOptions } from './transport.js';

export interface DeleteTenantOptions extends CallOptions {
  /** Whether its collections go with it; without it a tenant that has some is not deleted. */
  force?: boolean;
}

export class AdminCalls {
  constructor(private readonly calls: Calls) {}

  listTenants(call?: CallOptions): Promise<Answered<TenantList>> {
    return this.calls.get(adminPath('tenants'), call);
  }

  /** The answer has the tenant's first key, which is shown this once. */
  createTenant(body: CreateTenantBody, call?: CallOptions): Promise<Answered<CreatedTenant>> {
    return this.calls.post(adminPath('tenants'), body, call);
  }

  getTenant(tenant: string, call?: CallOptions): Promise<Answered<TenantProfile>> {
    return this.calls.get(adminPath('tenants', tenant), call);
  }

  /** What is absent stays as it is. */
  updateTenant(tenant: string, body: UpdateTenantBody, call?: CallOptions): Promise<Answered<TenantProfile>> {
    return this.calls.patch(adminPath('tenants', tenant), body, call);
  }

  deleteTenant(tenant: string, { force, ...call }: DeleteTenantOptions = {}): Promise<Answered<DeletedTenant>> {
    return this.calls.json({ method: 'DELETE', path: adminPath('tenants', tenant), query: { force }, ...call });
  }

  listKeys(tenant: string, call?: CallOptions): Promise<Answered<KeyList>> {
    return this.calls.get(adminPath('tenants', tenant, 'keys'), call);
  }

  /** The answer has the key, which is shown this once. */
  createKey(tenant: string, body: CreateKeyBody = {}, call?: CallOptions): Promise<Answered<CreatedKey>> {
    return this.calls.post(adminPath('tenants', tenant, 'keys'), body, call);
  }

  revokeKey(tenant: string, keyId: string, call?: CallOptions): Promise<Answered<RevokedKey>> {
    return this.calls.delete(adminPath('tenants', tenant, 'keys', keyId), call);
  }

  moveCollection(
    tenant: string,
    name: string,
    newName: string,
    call?: CallOptions,
  ): Promise<Answered<MovedCollection>> {
    return this.calls.post(adminPath('collections', tenant, name, 'move'), { new_name: newName }, call);
  }

  /** A logged search of any tenant. */
  getQuery(queryId: string, call?: CallOptions): Promise<Answered<QueryAnswer>> {
    return this.calls.get(adminPath('queries', queryId), call);
  }

  replayQuery(queryId: string, call?: CallOptions): Promise<Answered<ReplayAnswer>> {
    return this.calls.post(adminPath('queries', queryId, 'replay'), undefined, call);
  }

  listEmbedders(call?: CallOptions): Promise<Answered<EmbedderInventory>> {
    return this.calls.get(adminPath('embedders'), call);
  }

  /** Sets the request counters to zero. */
  resetMetrics(call?: CallOptions): Promise<Answered<MetricsReset>> {
    return this.calls.delete(adminPath('metrics'), call);
  }
}

const adminPath = (...rest: string[]): string[] => ['v1', 'admin', ...rest];
