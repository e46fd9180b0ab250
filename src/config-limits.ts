// The limits of the configuration as the rest of the server takes them: of requests, and of what a tenant may use.
// Called by config-shape.ts at start.
import type { TenantLimits } from './tenants/limits.js';

export interface LimitsConfig {
  batchBytesMax: number;
  fileBytesMax: number;
  archiveBytesMax: number;
  metadataBytesMax: number;
  batchItemsMax: number;
  inFlightMax: number;
  heldBytesMax: number;
  bodyTimeoutMs: number;
  requestTimeoutMs: number;
  drainTimeoutMs: number;
}

export function assembleLimits(number: (path: string) => number): LimitsConfig {
  return {
    batchBytesMax: number('limits.json_bytes_max'),
    fileBytesMax: number('limits.file_bytes_max'),
    archiveBytesMax: number('limits.archive_bytes_max'),
    metadataBytesMax: number('limits.metadata_bytes_max'),
    batchItemsMax: number('limits.batch_items_max'),
    inFlightMax: number('limits.in_flight_max'),
    heldBytesMax: number('limits.held_bytes_max'),
    bodyTimeoutMs: number('limits.body_timeout_seconds') * 1000,
    requestTimeoutMs: number('limits.request_timeout_seconds') * 1000,
    drainTimeoutMs: number('limits.drain_timeout_seconds') * 1000,
  };
}

/** Without keys there are no tenants to keep apart: the in-flight cap then holds only where the operator gave it. */
export function assembleTenantLimits(number: (path: string) => number, isUncapped: boolean): TenantLimits {
  return {
    requestsPerSecond: number('limits.tenant.requests_per_second'),
    burst: number('limits.tenant.burst'),
    inFlightMax: isUncapped ? 0 : number('limits.tenant.max_in_flight'),
    collectionsMax: number('limits.tenant.max_collections'),
    chunksPerCollectionMax: number('limits.tenant.max_chunks_per_collection'),
  };
}
