// A worker thread that admits and releases requests of tenants by chance, as a front thread does, on a clock that goes
// on with each request of any thread.
import { parentPort, workerData } from 'node:worker_threads';
import { AppError } from '../../src/api/errors.js';
import { createPrng } from '../../src/base/prng.js';
import type { TenantLimits } from '../../src/config/config.js';
import type { SharedLimits } from '../../src/http/shared-limits.js';
import { TenantLimiter } from '../../src/service/tenants/limits.js';

export interface LimitedFront {
  limits: SharedLimits;
  stripe: number;
  tenantLimits: TenantLimits;
  tenants: number;
  /** Requests to make; Infinity: until the thread is terminated. */
  requests: number;
  /** Words of FRONT_WORDS, and then the requests of each tenant that are in progress. */
  words: SharedArrayBuffer;
}

/** `ticks`: clock; `exceeded`: how often a tenant had more in progress than it may; `full`: 503 for a full table. */
export const FRONT_WORDS = { ticks: 0, admitted: 1, exceeded: 2, full: 3, started: 4, tenants: 5 } as const;
export const TICK_MS = 0.125;

if (parentPort) run(workerData as LimitedFront);

function run({ limits, stripe, tenantLimits, tenants, requests, words }: LimitedFront): void {
  const cells = new Int32Array(words);
  const prng = createPrng(stripe + 1);
  const now = (): number => Atomics.add(cells, FRONT_WORDS.ticks, 1) * TICK_MS;
  const limiter = new TenantLimiter(() => tenantLimits, now, limits, stripe);
  Atomics.add(cells, FRONT_WORDS.started, 1);
  for (let i = 0; i < requests; i++) {
    const tenant = prng.int(tenants);
    try {
      const permit = limiter.admit({ name: 'k', admin: false }, `t${tenant}`);
      const underWay = Atomics.add(cells, FRONT_WORDS.tenants + tenant, 1) + 1;
      if (underWay > tenantLimits.inFlightMax) Atomics.add(cells, FRONT_WORDS.exceeded, 1);
      Atomics.add(cells, FRONT_WORDS.admitted, 1);
      Atomics.sub(cells, FRONT_WORDS.tenants + tenant, 1);
      permit.release();
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      if (error.code === 'overloaded') Atomics.add(cells, FRONT_WORDS.full, 1);
    }
  }
}
