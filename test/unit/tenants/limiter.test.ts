// The token bucket of a tenant and its places for concurrent requests, on a clock of the test's own.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { AppError } from '../../../src/api/errors.js';
import type { Actor } from '../../../src/service/tenants/actor.js';
import type { TenantLimits } from '../../../src/config/config.js';
import { createSharedLimits } from '../../../src/http/shared-limits.js';
import { TenantLimiter, configuredLimits, limitsAnswer, limitsUnder } from '../../../src/service/tenants/limits.js';
import { TokenBucket } from '../../../src/base/token-bucket.js';

const OPEN: TenantLimits = {
  requestsPerSecond: 0,
  burst: 0,
  inFlightMax: 0,
  collectionsMax: 0,
  chunksPerCollectionMax: 0,
};
const INHERIT = {
  max_collections: null,
  max_chunks_per_collection: null,
  requests_per_second: null,
  burst: null,
  max_in_flight: null,
};
const KEY: Actor = { name: 'web', admin: false, tenants: ['acme'] };

function limiterOf(
  limits: Partial<TenantLimits>,
  perTenant: Record<string, Partial<TenantLimits>> = {},
): { limiter: TenantLimiter; clock: { ms: number } } {
  const clock = { ms: 1000 };
  const limiter = new TenantLimiter(
    (tenant) => configuredLimits({ ...OPEN, ...limits, ...perTenant[tenant] }),
    () => clock.ms,
    createSharedLimits(1, 64),
    0,
  );
  return { limiter, clock };
}

function refused(limiter: TenantLimiter, tenant = 'acme'): AppError {
  try {
    limiter.admit(KEY, tenant);
  } catch (error) {
    assert.ok(error instanceof AppError);
    assert.equal(error.code, 'tenant_rate_limited');
    return error;
  }
  throw new Error('it was let in');
}

test('a bucket never gives more than its burst at once, nor more than its rate in the long run', () => {
  const prng = createPrng(7);
  const rate = { perSecond: 5, capacity: 8 };
  const bucket = new TokenBucket(rate, 0);
  const taken: number[] = [];
  for (let ms = 0; ms < 60_000; ms += prng.int(120)) {
    bucket.fill(rate, ms);
    if (bucket.take()) taken.push(ms);
  }
  for (const [i, start] of taken.entries()) {
    const within = taken.slice(i).filter((ms) => ms <= start + 3000).length;
    assert.ok(within <= 8 + 15, `${within} in three seconds from ${start}`);
  }
  assert.ok(taken.length >= 300 && taken.length <= 308, `${taken.length} in a minute`);
});

test('a clock that goes back gives nothing', () => {
  const rate = { perSecond: 1, capacity: 1 };
  const bucket = new TokenBucket(rate, 10_000);
  assert.ok(bucket.take());
  bucket.fill(rate, 5000);
  assert.equal(bucket.take(), false);
  bucket.fill(rate, 6000);
  assert.equal(bucket.take(), true);
});

test('the headers count down, and an error for the client says when to come again', () => {
  const { limiter, clock } = limiterOf({ requestsPerSecond: 0.5, burst: 2 });
  const headers = [limiter.admit(KEY, 'acme').headers, limiter.admit(KEY, 'acme').headers];
  assert.deepEqual(
    headers.map((each) => Object.values(each)),
    [
      ['2', '1', '2'],
      ['2', '0', '4'],
    ],
  );
  assert.deepEqual(Object.keys(headers[0] ?? {}), ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset']);
  const error = refused(limiter);
  assert.equal(error.options.retryAfterS, 2);
  assert.deepEqual(Object.values(error.options.headers ?? {}), ['2', '0', '4']);
  clock.ms += 1999;
  assert.equal(refused(limiter).options.retryAfterS, 1);
  clock.ms += 1;
  limiter.admit(KEY, 'acme');
});

test('places are counted until they are given back', () => {
  const { limiter } = limiterOf({ inFlightMax: 2 });
  const first = limiter.admit(KEY, 'acme');
  const second = limiter.admit(KEY, 'acme');
  assert.deepEqual([first.headers['X-RateLimit-Remaining'], second.headers['X-RateLimit-Remaining']], ['1', '0']);
  assert.equal(refused(limiter).options.retryAfterS, 1);
  first.release();
  limiter.admit(KEY, 'acme');
  refused(limiter);
});

test('an error for the client for places under way costs no token', () => {
  const { limiter } = limiterOf({ requestsPerSecond: 1, burst: 2, inFlightMax: 1 });
  const { release } = limiter.admit(KEY, 'acme');
  refused(limiter);
  release();
  assert.equal(limiter.admit(KEY, 'acme').headers['X-RateLimit-Remaining'], '0');
});

test('what a request is charged for counts as requests: the next ones wait until it is paid for', () => {
  const { limiter, clock } = limiterOf({ requestsPerSecond: 2, burst: 4 });
  const permit = limiter.admit(KEY, 'acme');
  permit.charge(9);
  assert.deepEqual([permit.headers['X-RateLimit-Remaining'], permit.headers['X-RateLimit-Reset']], ['0', '5']);
  permit.release();
  assert.equal(refused(limiter).options.retryAfterS, 4);
  clock.ms += 3400;
  refused(limiter);
  clock.ms += 200;
  limiter.admit(KEY, 'acme');
});

test('one tenant at its limit leaves the others alone', () => {
  const { limiter } = limiterOf({ requestsPerSecond: 1, burst: 1, inFlightMax: 1 });
  limiter.admit(KEY, 'acme');
  refused(limiter);
  limiter.admit(KEY, 'other');
});

test('the limited tenant is that of the path, else the only one of the key, else the name of the caller', () => {
  const { limiter } = limiterOf({ inFlightMax: 1 });
  const anonymous: Actor = { name: 'anonymous', admin: true };
  limiter.admit(KEY, undefined);
  refused(limiter, 'acme');
  for (const actor of [{ name: 'both', admin: false, tenants: ['acme', 'other'] }, anonymous]) {
    limiter.admit(actor, undefined);
    assert.throws(() => limiter.admit(actor, undefined), { code: 'tenant_rate_limited' });
    limiter.admit(KEY, actor.name).release();
  }
});

test('the admin is exempt and hears of no limit', () => {
  const { limiter } = limiterOf({ requestsPerSecond: 1, burst: 1, inFlightMax: 1 });
  const places = Array.from({ length: 10 }, () =>
    limiter.admit({ name: 'admin', admin: true, unlimited: true }, 'acme'),
  );
  assert.deepEqual(new Set(places.map(({ headers }) => Object.keys(headers).length)), new Set([0]));
});

test('tenants that are idle are forgotten, those that are not keep what they have used', () => {
  const { limiter, clock } = limiterOf({ requestsPerSecond: 1, burst: 1 }, { busy: { requestsPerSecond: 0.001 } });
  limiter.admit(KEY, 'busy');
  for (let i = 0; i < 5000; i++) {
    limiter.admit(KEY, `t${i}`).release();
    clock.ms += 20;
  }
  refused(limiter, 'busy');
});

test('quotas: null inherits, -1 is no limit, 0 is none', () => {
  const configured = configuredLimits({ ...OPEN, requestsPerSecond: 10, inFlightMax: 42, collectionsMax: 3 });
  assert.deepEqual(limitsAnswer(limitsUnder(INHERIT, configured)), {
    max_collections: 3,
    max_chunks_per_collection: -1,
    requests_per_second: 10,
    burst: 20,
    max_in_flight: 42,
  });
  const own = limitsUnder(
    { max_collections: 0, max_chunks_per_collection: 7, requests_per_second: -1, burst: null, max_in_flight: -1 },
    configured,
  );
  assert.deepEqual(limitsAnswer(own), {
    max_collections: 0,
    max_chunks_per_collection: 7,
    requests_per_second: -1,
    burst: -1,
    max_in_flight: -1,
  });
  assert.equal(limitsUnder({ ...INHERIT, requests_per_second: 2.5 }, configured).burst, 5);
});

test('a rate of 0 admits nobody, and Retry-After is the longest that there is', () => {
  const none = limitsUnder({ ...INHERIT, requests_per_second: 0 }, configuredLimits(OPEN));
  const limiter = new TenantLimiter(
    () => none,
    () => 0,
    createSharedLimits(1, 64),
    0,
  );
  assert.equal(refused(limiter).options.retryAfterS, 3600);
});
