// What a tenant may use: the limits of the configuration, overridden by the quotas of a tenant that was made at run
// time. Pure; used by registry.ts.
import type { TenantQuotas } from '../contract/tenants.js';

/** Infinity is no limit, 0 none at all. */
export interface TenantLimits {
  readonly requestsPerSecond: number;
  readonly burst: number;
  readonly inFlightMax: number;
  readonly collectionsMax: number;
  readonly chunksPerCollectionMax: number;
}

/** The limits as they are configured, where 0 is no limit; a burst of 0 is twice the rate. */
export function configuredLimits(configured: TenantLimits): TenantLimits {
  const open = (value: number): number => (value === 0 ? Infinity : value);
  const requestsPerSecond = open(configured.requestsPerSecond);
  return {
    requestsPerSecond,
    burst: configured.burst || burstFor(requestsPerSecond),
    inFlightMax: open(configured.inFlightMax),
    collectionsMax: open(configured.collectionsMax),
    chunksPerCollectionMax: open(configured.chunksPerCollectionMax),
  };
}

/** The limits of a tenant with quotas: null takes what is configured. */
export function limitsUnder(quotas: TenantQuotas, configured: TenantLimits): TenantLimits {
  const own = (quota: number | null, inherited: number): number =>
    quota === null ? inherited : quota === -1 ? Infinity : quota;
  const requestsPerSecond = own(quotas.requests_per_second, configured.requestsPerSecond);
  // A rate of the tenant's own goes with a burst of its own, so that the configured one does not undo it.
  const inheritedBurst = quotas.requests_per_second === null ? configured.burst : burstFor(requestsPerSecond);
  return {
    requestsPerSecond,
    burst: own(quotas.burst, inheritedBurst),
    inFlightMax: own(quotas.max_in_flight, configured.inFlightMax),
    collectionsMax: own(quotas.max_collections, configured.collectionsMax),
    chunksPerCollectionMax: own(quotas.max_chunks_per_collection, configured.chunksPerCollectionMax),
  };
}

/** Twice the rate, at least one request; none where none is allowed. */
const burstFor = (perSecond: number): number => (perSecond === 0 ? 0 : Math.max(1, Math.ceil(perSecond * 2)));

/** As quotas tell it: -1 for no limit. */
export function toldLimits(limits: TenantLimits): Record<keyof TenantQuotas, number> {
  const told = (value: number): number => (value === Infinity ? -1 : value);
  return {
    max_collections: told(limits.collectionsMax),
    max_chunks_per_collection: told(limits.chunksPerCollectionMax),
    requests_per_second: told(limits.requestsPerSecond),
    burst: told(limits.burst),
    max_in_flight: told(limits.inFlightMax),
  };
}
