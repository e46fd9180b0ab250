// Which call may begin when: parallel calls, budgets by the minute and pauses after rate limits, on a clock of the
// test's own.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { AppError } from '../../../../src/api/errors.js';
import { EndpointMeter } from '../../../../src/base/meters.js';
import { RateLimiter } from '../../../../src/embedding/remote/rate-limiter.js';
import type { Purpose } from '../../../../src/embedding/embedder.js';

interface Bench {
  gate: RateLimiter;
  /** Calls that began or were rejected, in order. */
  events: string[];
  ask(purpose: Purpose, name: string, waitMs?: number, tokens?: number): void;
  pass(ms: number): Promise<void>;
}

function bench(
  t: TestContext,
  limits: Partial<{ callsMax: number; requestsPerMinute: number; tokensPerMinute: number }>,
): Bench {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const clock = { ms: 0 };
  const gate = new RateLimiter({ callsMax: 2, requestsPerMinute: 0, tokensPerMinute: 0, ...limits }, () => clock.ms);
  const events: string[] = [];
  return {
    gate,
    events,
    ask(purpose, name, waitMs = 5000, tokens = 1) {
      gate
        .enter(purpose, clock.ms + waitMs, () => tokens)
        .then(
          () => events.push(name),
          (error: AppError) => events.push(`${name} ${error.code} ${error.options.retryAfterS}`),
        );
    },
    async pass(ms) {
      for (let left = ms; left > 0; left -= 10) {
        clock.ms += 10;
        t.mock.timers.tick(10);
      }
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

test('the number of parallel calls is limited; queries go first, and passages leave them a place', async (t) => {
  const { gate, events, ask, pass } = bench(t, { callsMax: 2 });
  ask('passage', 'p1');
  ask('passage', 'p2');
  ask('query', 'q1');
  ask('query', 'q2');
  await pass(10);
  assert.deepEqual(events, ['p1', 'q1']);
  gate.leave('passage');
  await pass(10);
  assert.deepEqual(events, ['p1', 'q1', 'q2'], 'the query goes before the passage that waited longer');
  gate.leave('query');
  gate.leave('query');
  await pass(10);
  assert.deepEqual(events.at(-1), 'p2');
});

test('an endpoint that takes one call at a time takes passages too', async (t) => {
  const { events, ask, pass } = bench(t, { callsMax: 1 });
  ask('passage', 'p1');
  ask('query', 'q1');
  await pass(10);
  assert.deepEqual(events, ['p1']);
});

test('what finds no place in time is refused', async (t) => {
  const { events, ask, pass } = bench(t, { callsMax: 1 });
  ask('query', 'q1', 5000);
  ask('query', 'q2', 3000);
  ask('passage', 'p1', 60_000);
  await pass(2990);
  assert.deepEqual(events, ['q1']);
  await pass(20);
  assert.deepEqual(events, ['q1', 'q2 embedder_unavailable 1']);
});

test('a rest is waited for by what can wait so long, and refuses the others at once', async (t) => {
  const { gate, events, ask, pass } = bench(t, {});
  ask('query', 'early', 5000);
  await pass(10);
  gate.leave('query');
  gate.rest(20_000);
  ask('query', 'q1', 5000);
  ask('passage', 'p1', 60_000);
  await pass(10);
  assert.deepEqual(events, ['early', 'q1 embedder_unavailable 20']);
  await pass(19_900);
  assert.equal(events.length, 2);
  await pass(200);
  assert.deepEqual(events.at(-1), 'p1');
});

test('a rest that begins while a query waits refuses it', async (t) => {
  const { gate, events, ask, pass } = bench(t, { callsMax: 1 });
  ask('query', 'q1');
  ask('query', 'q2', 5000);
  gate.rest(30_000);
  await pass(10);
  assert.deepEqual(events, ['q1', 'q2 embedder_unavailable 30']);
});

test('requests beyond the budget of the minute wait, or are told when to come back', async (t) => {
  const { gate, events, ask, pass } = bench(t, { requestsPerMinute: 6 });
  for (const name of ['q1', 'q2', 'q3']) ask('query', name, 15_000);
  await pass(10);
  gate.leave('query');
  assert.deepEqual(events, ['q1']);
  await pass(11_000);
  gate.leave('query');
  assert.deepEqual(events, ['q1', 'q2', 'q3 embedder_unavailable 10']);
});

test('tokens go into debt by one call, which the next one waits for; a query goes before a passage then', async (t) => {
  const { gate, events, ask, pass } = bench(t, { tokensPerMinute: 1000 });
  assert.equal(gate.tokensMax, 50);
  ask('passage', 'p1', 60_000, 200);
  ask('passage', 'p2', 60_000, 10);
  ask('query', 'q1', 15_000, 10);
  await pass(5000);
  gate.leave('passage');
  assert.deepEqual(events, ['p1']);
  await pass(6000);
  assert.deepEqual(events, ['p1', 'q1', 'p2']);
  gate.correct(-100);
});

test('a call that has nothing to say any more spends nothing and takes no place', async (t) => {
  const { gate, events, ask, pass } = bench(t, { callsMax: 1, requestsPerMinute: 20 });
  assert.equal(await gate.enter('passage', 1000, () => undefined), false);
  ask('passage', 'p1');
  await pass(10);
  assert.deepEqual(events, ['p1']);
});

test('a gate that opens while it is looked at lets its call in, at whichever look', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  for (let opensAtLook = 1; opensAtLook <= 12; opensAtLook++) {
    let looks = -Infinity;
    const gate = new RateLimiter({ callsMax: 1, requestsPerMinute: 0, tokensPerMinute: 0 }, () =>
      ++looks >= opensAtLook ? 10 : 0,
    );
    gate.rest(5);
    looks = 0;
    let hasEntered = false;
    void gate.enter('passage', 60_000, () => 1).then(() => (hasEntered = true));
    for (let tick = 0; tick < 100; tick++) t.mock.timers.tick(1);
    await new Promise((resolve) => setImmediate(resolve));
    assert.ok(hasEntered, `look ${opensAtLook}`);
  }
});

test('its meter has the calls that began, those that were refused, the rests, and what waits', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const memory = EndpointMeter.create(2);
  const clock = { ms: 0 };
  const gate = new RateLimiter(
    { callsMax: 1, requestsPerMinute: 0, tokensPerMinute: 0 },
    () => clock.ms,
    EndpointMeter.over(memory, 1),
  );
  const told = (place: number): object => EndpointMeter.over(memory, place).read();
  await gate.enter('query', 5000, () => 7);
  const [refused, waits] = [gate.enter('query', 50, () => 1), gate.enter('query', 5000, () => 1)];
  assert.deepEqual(told(1), { calls: 1, tokens: 0, refused: 0, rests: 0, waiting: 2 });
  clock.ms = 100;
  gate.rest(1000);
  await assert.rejects(refused, { code: 'embedder_unavailable' });
  assert.deepEqual(told(1), { calls: 1, tokens: 0, refused: 1, rests: 1, waiting: 1 });
  clock.ms = 2000;
  gate.leave('query');
  await waits;
  assert.deepEqual(told(1), { calls: 2, tokens: 0, refused: 1, rests: 1, waiting: 0 });
  assert.deepEqual(told(0), { calls: 0, tokens: 0, refused: 0, rests: 0, waiting: 0 });
});
