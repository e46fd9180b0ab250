// The memory in which front threads count requests, body bytes and what tenants use, so that limits hold over all of
// them together. Made by the main thread, which also takes back what a dead thread held.
import { TenantSlots, type TenantSlotsMemory } from '../service/tenants/tenant-slots.js';
import { Admission, type AdmissionMemory } from './admission.js';

/** Plain data for other threads. `stripes`: number of threads. */
export type SharedLimits = AdmissionMemory & TenantSlotsMemory;

/** Tenants with limits that can be active at a time. */
const TENANTS_MAX = 65_536;

export const createSharedLimits = (stripes: number, tenantsMax = TENANTS_MAX): SharedLimits => ({
  stripes,
  admission: Admission.memory(stripes),
  tenants: TenantSlots.memory(tenantsMax, stripes),
});

/** Takes back what the thread of this stripe has left behind. Call it once that thread has ended. */
export function releaseStripe(limits: SharedLimits, stripe: number): void {
  Admission.release(limits, stripe);
  new TenantSlots(limits, stripe).release();
}
