// What the shard pool is made with. Types only.
// Given by compose-context.ts; front thread.
import type { Log } from '../base/log.js';
import type { SharedShards } from '../contract/messages.js';
import type { PoolMeters } from './pool-meters.js';
import type { Quarantine } from './quarantine.js';
import type { TenantOf } from './shard-seat.js';

export interface ShardPoolOptions {
  /** As many shards as memories. */
  shared: SharedShards;
  log: Log;
  /** Makes a claimed shard usable by asking it `loadCatalog` and `open`; rejects when that fails. */
  open: (shard: number) => Promise<void>;
  /** Called once the shard takes every command. */
  opened: (shard: number) => Promise<void>;
  /** Whose line the asks about a collection wait in. */
  tenantOf: TenantOf;
  quarantine: Quarantine;
  meters?: PoolMeters;
}
