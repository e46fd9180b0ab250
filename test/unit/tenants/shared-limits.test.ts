// Limits over several threads: what all of them admit together is exact, what a dead one held is given back, and a full
// table of tenants makes nobody unlimited.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import type { AppError } from '../../../src/api/errors.js';
import { createPrng } from '../../../src/base/prng.js';
import { SharedBuckets } from '../../../src/base/shared-buckets.js';
import { TokenBucket } from '../../../src/base/token-bucket.js';
import type { TenantLimits } from '../../../src/config/config.js';
import { Admission } from '../../../src/http/admission.js';
import { createSharedLimits, releaseStripe } from '../../../src/http/shared-limits.js';
import type { Actor, Permit } from '../../../src/service/tenants/actor.js';
import { TenantLimiter, configuredLimits } from '../../../src/service/tenants/limits.js';
import { TenantSlots } from '../../../src/service/tenants/tenant-slots.js';
import { FRONT_WORDS, type LimitedFront, TICK_MS } from '../../kit/limited-front.js';
import { until } from '../../kit/until.js';

const KEY: Actor = { name: 'web', admin: false };
const THREADS = 4;
const SET = 64;

const limitsOf = (limits: Partial<TenantLimits>): TenantLimits =>
  configuredLimits({
    requestsPerSecond: 0,
    burst: 0,
    inFlightMax: 0,
    collectionsMax: 0,
    chunksPerCollectionMax: 0,
    ...limits,
  });

function start(front: LimitedFront): Worker {
  return new Worker(new URL('../../kit/limited-front.js', import.meta.url), { workerData: front });
}

/** Runs threads to their end and returns the words that they counted in. */
async function hammered(front: Omit<LimitedFront, 'words' | 'stripe'>): Promise<Int32Array> {
  const words = new SharedArrayBuffer(4 * (FRONT_WORDS.tenants + front.tenants));
  const workers = Array.from({ length: THREADS }, (_, stripe) => start({ ...front, words, stripe }));
  await Promise.all(workers.map((worker) => once(worker, 'exit')));
  return new Int32Array(words);
}

const count = (words: Int32Array, word: keyof typeof FRONT_WORDS): number => Atomics.load(words, FRONT_WORDS[word]);

/** How many requests of a tenant are admitted beside those in progress. */
function placesOf(limiter: TenantLimiter, tenant: string): number {
  const permits: Permit[] = [];
  try {
    for (;;) permits.push(limiter.admit(KEY, tenant));
  } catch (error) {
    assert.equal((error as AppError).code, 'tenant_rate_limited');
  }
  for (const { release } of permits) release();
  return permits.length;
}

test('several threads give one tenant its burst and its rate together, to the last token', async () => {
  for (const [requestsPerSecond, burst] of [
    [200, 50],
    [3, 1],
    [1999, 7],
  ] as const) {
    const tenantLimits = limitsOf({ requestsPerSecond, burst });
    const limits = createSharedLimits(THREADS, SET);
    const words = await hammered({ limits, tenantLimits, tenants: 1, requests: 20_000 });
    const elapsedMs = (count(words, 'ticks') - 1) * TICK_MS;
    const due = burst + (requestsPerSecond * elapsedMs) / 1000;
    const admitted = count(words, 'admitted');
    assert.ok(admitted <= due && admitted > due - 2, `${admitted} of ${due} were admitted`);
  }
});

test('requests in progress never exceed the maximum, also while tenants take the slots of idle ones', async () => {
  const tenantLimits = limitsOf({ inFlightMax: 2, requestsPerSecond: 1e6 });
  for (const tenants of [1, 2, 2 * SET]) {
    const limits = createSharedLimits(THREADS, SET);
    const words = await hammered({ limits, tenantLimits, tenants, requests: 20_000 });
    assert.equal(count(words, 'exceeded'), 0);
    assert.ok(count(words, 'admitted') > 0);
    let ms = 1e9;
    const after = new TenantLimiter(
      () => tenantLimits,
      () => ++ms,
      limits,
      0,
    );
    for (let tenant = 0; tenant < tenants; tenant++) assert.equal(placesOf(after, `t${tenant}`), 2);
  }
});

test('what a thread held when it was killed is given back, wherever it was', async () => {
  const tenants = 2 * SET;
  const tenantLimits = limitsOf({ inFlightMax: 3 });
  const limits = createSharedLimits(THREADS, SET);
  const words = new SharedArrayBuffer(4 * (FRONT_WORDS.tenants + tenants));
  const own = new TenantLimiter(
    () => tenantLimits,
    () => 1e9,
    limits,
    0,
  );
  const held = own.admit(KEY, 't0');
  for (let round = 1; round <= 5; round++) {
    const workers = [1, 2, 3].map((stripe) => ({
      stripe,
      worker: start({ limits, tenantLimits, tenants, requests: Infinity, words, stripe }),
    }));
    const view = new Int32Array(words);
    await until(() => count(view, 'started') === 3 * round, 'the threads do not start');
    const before = count(view, 'admitted');
    await until(() => count(view, 'admitted') > before + 10_000, 'nothing is admitted');
    for (const { stripe, worker } of workers) {
      await worker.terminate();
      releaseStripe(limits, stripe);
    }
  }
  for (let tenant = 0; tenant < tenants; tenant++) assert.equal(placesOf(own, `t${tenant}`), tenant === 0 ? 2 : 3);
  held.release();
  assert.equal(placesOf(own, 't0'), 3);
});

test('a dead stripe gives back its requests and bytes, and the others keep theirs', () => {
  const limits = createSharedLimits(2, SET);
  const tenantLimits = limitsOf({ inFlightMax: 3 });
  const [first, second] = [0, 1].map(
    (stripe) =>
      new TenantLimiter(
        () => tenantLimits,
        () => 0,
        limits,
        stripe,
      ),
  ) as [TenantLimiter, TenantLimiter];
  first.admit(KEY, 'acme');
  for (let i = 0; i < 2; i++) second.admit(KEY, 'acme');
  assert.equal(placesOf(first, 'acme'), 0);
  const max = { inFlightMax: 2, heldBytesMax: 10_000 };
  const [one, other] = [new Admission(limits, 0, max), new Admission(limits, 1, max)];
  one.enter();
  other.enter();
  assert.throws(() => one.enter(), { code: 'overloaded' });
  assert.ok(one.hold(5000) && other.hold(4000));
  assert.deepEqual([one.hold(2000), one.hold(900)], [false, true]);
  releaseStripe(limits, 1);
  assert.equal(placesOf(first, 'acme'), 2);
  one.enter();
  assert.equal(one.bytesHeld, 5900);
  assert.ok(one.hold(4100));
  other.close();
  assert.throws(() => one.checkOpen(), { code: 'shutting_down' });
});

test('a tenant beyond the table is refused while all have requests in progress, and then takes the place of an idle one', () => {
  const limits = createSharedLimits(1, SET);
  const clock = { ms: 0 };
  const tenantLimits = limitsOf({ inFlightMax: 2, requestsPerSecond: 1, burst: 1 });
  const limiter = new TenantLimiter(
    () => tenantLimits,
    () => clock.ms,
    limits,
    0,
  );
  const permits = Array.from({ length: SET }, (_, i) => limiter.admit(KEY, `t${i}`));
  const isRefused = (): void => assert.throws(() => limiter.admit(KEY, 'one more'), { code: 'overloaded' });
  isRefused();
  permits[7]?.release();
  // Its bucket is not full yet: it would have a new one if it lost its slot now.
  isRefused();
  clock.ms = 999;
  isRefused();
  clock.ms = 1000;
  limiter.admit(KEY, 'one more');
  assert.throws(() => limiter.admit(KEY, 't7'), { code: 'overloaded' });
  permits[8]?.release();
  assert.equal(limiter.admit(KEY, 't7').headers['X-RateLimit-Remaining'], '0');
});

test('a shared bucket gives what a bucket of one thread gives, also when its rate changes', () => {
  for (let seed = 1; seed <= 50; seed++) {
    const prng = createPrng(seed);
    const shared = new SharedBuckets(new SharedArrayBuffer(SharedBuckets.bytes(1)), 0, 1);
    const rateOf = (): { perSecond: number; capacity: number } => ({
      perSecond: prng.int(4) === 0 ? 0 : prng.int(3) === 0 ? prng.next() : 1 + prng.int(1000),
      capacity: prng.int(20),
    });
    let rate = rateOf();
    let nowMs = 1e9 * prng.next();
    const bucket = new TokenBucket(rate, nowMs);
    shared.fill(0, rate, nowMs);
    for (let step = 0; step < 500; step++) {
      const text = `seed ${seed}, step ${step}, ${JSON.stringify(rate)}`;
      nowMs += prng.int(3) === 0 ? 0 : prng.next() * 50;
      bucket.fill(rate, nowMs);
      if (prng.int(50) === 0) {
        shared.tokens(0, rate, nowMs);
        rate = rateOf();
        bucket.fill(rate, nowMs);
      }
      assert.ok(Math.abs(shared.tokens(0, rate, nowMs) - (rate.capacity - missing(bucket, rate))) < 1e-5, text);
      assert.equal(shared.take(0, rate, nowMs) >= 1, bucket.take(), text);
      if (prng.int(20) !== 0) continue;
      bucket.spend(3);
      shared.spend(0, 3, rate, nowMs);
    }
  }
});

test('what other nodes have admitted is taken from the buckets here, and is not told again', () => {
  const rate = { perSecond: 10, capacity: 20 };
  const [here, there] = [1, 2].map(() => new TenantSlots({ stripes: 1, tenants: TenantSlots.memory(SET, 1) }, 0)) as [
    TenantSlots,
    TenantSlots,
  ];
  const use = (slots: TenantSlots, tenant: string, tokens: number, nowMs: number): number => {
    const { slot } = slots.enter(tenant, Infinity, rate, nowMs);
    for (let i = 0; i < tokens; i++) slots.take(slot, rate, nowMs);
    slots.leave(slot);
    return slots.tokens(slot, rate, nowMs);
  };
  assert.equal(use(there, 'acme', 1, 0), 19);
  assert.equal(use(here, 'acme', 5, 0), 15);
  assert.equal(use(here, 'other', 3, 0), 17);
  const told = [...here.used()];
  assert.deepEqual(told.map(([, tokens]) => tokens).sort(), [3, 5]);
  assert.deepEqual([...here.used()], []);
  for (const [name, tokens] of told) there.charge(name, tokens, 0);
  // Where a tenant has not been seen, it has a full bucket.
  assert.deepEqual([use(there, 'acme', 0, 0), use(there, 'other', 0, 0)], [14, 20]);
  assert.deepEqual(
    [...there.used()].map(([, tokens]) => tokens),
    [1],
  );
  const [[acme] = ['']] = told;
  there.charge(acme, 1e9, 0);
  assert.equal(use(there, 'acme', 0, 0), -20, 'the debt is a full bucket');
  assert.equal(use(there, 'acme', 0, 2000), 0);
  there.charge(acme, 1, 2000);
  assert.equal(use(there, 'acme', 0, 2000), -1);
  // A debt that its own requests have made is not forgiven.
  const { slot } = there.enter('acme', Infinity, rate, 2000);
  there.spend(slot, 100, rate, 2000);
  there.charge(acme, 1, 2000);
  assert.equal(there.tokens(slot, rate, 2000), -101);
  for (const name of ['', 'AAAA', 'x'.repeat(99)]) there.charge(name, 1, 0);
  for (const tokens of [NaN, -5]) there.charge(acme, tokens, 2000);
  assert.equal(there.tokens(slot, rate, 2000), -101);
  // Without a rate there is nothing to take from.
  const open = { perSecond: Infinity, capacity: Infinity };
  there.leave(there.enter('open', 5, open, 0).slot);
  here.leave(here.enter('open', 5, rate, 0).slot);
  here.take(here.enter('open', 5, rate, 0).slot, rate, 0);
  for (const [name, tokens] of here.used()) there.charge(name, tokens, 0);
  assert.equal(there.tokens(there.enter('open', 5, open, 0).slot, open, 0), Infinity);
});

/** Tokens that the bucket lacks; found by its waiting time, at a rate of a token a second. */
const missing = (bucket: TokenBucket, { capacity }: { capacity: number }): number =>
  bucket.secondsUntil(capacity, { perSecond: 1, capacity });
