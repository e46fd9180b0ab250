// The health of an embedder instance: what opens its circuit breaker, what does not, and how it recovers without
// traffic.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Log } from '../../../src/base/log.js';
import { AppError } from '../../../src/api/errors.js';
import { BUILTIN } from '../../../src/embedding/spaces.js';
import { EmbedderHealth } from '../../../src/service/embedding/embedders.js';
import { until } from '../../kit/until.js';

/** The embedder behind the instance: it answers, or fails with `error`. */
interface Embedder {
  error?: Error | undefined;
  asked: number;
}

const down = (): AppError => new AppError('embedder_unavailable');
const busy = (): AppError => new AppError('embedder_unavailable', undefined, { retryAfterS: 1 });

async function watched(embedder: Embedder, told: string[] = []): Promise<EmbedderHealth> {
  const note = (_fields: Record<string, unknown>, message: string): void => void told.push(message);
  const log: Log = { debug: () => {}, info: note, warn: note, error: note };
  const ask = async (): Promise<void> => {
    embedder.asked++;
    if (embedder.error) throw embedder.error;
  };
  const instance = new EmbedderHealth(BUILTIN, ask, log);
  after(() => instance.close());
  if (!embedder.error) await until(() => instance.state === 'usable');
  return instance;
}

const failTimes = async (
  instance: EmbedderHealth,
  times: number,
  error: () => Error,
  signal?: AbortSignal,
): Promise<void> => {
  for (let i = 0; i < times; i++) await assert.rejects(instance.call(1, () => Promise.reject(error()), signal));
};

test('an instance is usable once it has answered, and is not probed from then on', async () => {
  const embedder: Embedder = { asked: 0 };
  const instance = await watched(embedder);
  for (let i = 0; i < 3; i++) await instance.call(1, async () => 'fine');
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.deepEqual([instance.state, embedder.asked], ['usable', 1]);
});

test('one that does not answer at the start is asked again until it does; the log tells of both, once', async () => {
  const embedder: Embedder = { asked: 0, error: new Error('a fault') };
  const told: string[] = [];
  const instance = await watched(embedder, told);
  await until(() => embedder.asked >= 3);
  assert.notEqual(instance.state, 'usable');
  embedder.error = undefined;
  await until(() => instance.state === 'usable');
  assert.deepEqual(told, ['an embedder does not answer; it will be probed until it does', 'an embedder answers']);
});

test('failures in a row break it; it is probed, and comes back by itself', async () => {
  const embedder: Embedder = { asked: 0 };
  const told: string[] = [];
  const instance = await watched(embedder, told);
  embedder.error = down();
  await failTimes(instance, 4, down);
  await instance.call(1, async () => 'fine');
  await failTimes(instance, 4, down);
  assert.equal(instance.state, 'usable', 'a success between them');
  await failTimes(instance, 1, down);
  assert.deepEqual([instance.state, instance.isBroken], ['broken', true]);
  await until(() => embedder.asked >= 3);
  assert.equal(instance.state, 'broken');
  embedder.error = undefined;
  await until(() => instance.state === 'usable');
  assert.equal(await instance.call(1, async () => 'fine'), 'fine');
  assert.deepEqual(told, ['an embedder does not answer; it will be probed until it does', 'an embedder answers']);
});

test("errors that are not the instance's do not open its breaker", async () => {
  const instance = await watched({ asked: 0 });
  const gone = new AbortController();
  gone.abort();
  await failTimes(instance, 20, busy);
  await failTimes(instance, 20, () => new AppError('overloaded'));
  await failTimes(instance, 20, () => new AppError('text_not_embeddable' as 'embedder_unavailable'));
  await failTimes(instance, 20, () => new Error('a fault of ours'));
  await failTimes(instance, 20, down, gone.signal);
  assert.equal(instance.state, 'usable');
});

test('those who probe at a time share one call, and are told the same', async () => {
  const embedder: Embedder = { asked: 0, error: new Error('any fault') };
  const instance = await watched(embedder);
  await until(() => embedder.asked >= 1);
  await new Promise((resolve) => setImmediate(resolve));
  const before = embedder.asked;
  const probes = await Promise.allSettled([instance.probe(), instance.probe(), instance.probe()]);
  assert.equal(embedder.asked, before + 1);
  for (const probe of probes)
    assert.equal(probe.status === 'rejected' && (probe.reason as AppError).code, 'embedder_unavailable');
});

test('bytes under way are counted, also where the work fails', async () => {
  const instance = await watched({ asked: 0 });
  let finish = (): void => {};
  const work = instance.call(70, () => new Promise<void>((resolve) => (finish = resolve)));
  const failing = instance.call(7, () => Promise.reject(busy()));
  assert.equal(instance.inFlight, 77);
  await assert.rejects(failing);
  finish();
  await work;
  assert.equal(instance.inFlight, 0);
});

test('a closed instance is not called any more', async () => {
  const embedder: Embedder = { asked: 0, error: down() };
  const instance = await watched(embedder);
  await until(() => embedder.asked >= 1);
  instance.close();
  await new Promise((resolve) => setTimeout(resolve, 50));
  const asked = embedder.asked;
  await new Promise((resolve) => setTimeout(resolve, 500));
  assert.equal(embedder.asked, asked);
});
