// The recall checks of searches: on a real server up to its metrics; and the sampler by itself, where there are none to
// check.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'node:test';
import type { CollectionId } from '../../../src/api/ids.js';
import type { Collection } from '../../../src/api/collections.js';
import { RecallMetrics } from '../../../src/observability/metrics.js';
import { Registry } from '../../../src/observability/prometheus.js';
import { RecallSampler, type RecallSamplerOptions, type SampledSearch } from '../../../src/service/recall/sampler.js';
import { startTestServer, type TestServer } from '../../kit/server.js';
import { until } from '../../kit/until.js';
import { SILENT } from '../../kit/log.js';

const search: SampledSearch = { vector: Float32Array.of(1), k: 1000 };

function createSampler(options: Partial<RecallSamplerOptions>): { sampler: RecallSampler; compared: SampledSearch[] } {
  const compared: SampledSearch[] = [];
  const compare: RecallSamplerOptions['compare'] = async (_, given) => (compared.push(given), { found: 9, wanted: 10 });
  return {
    sampler: new RecallSampler({
      everyMs: 1,
      compare,
      isBusy: () => false,
      sampled: () => {},
      log: SILENT,
      ...options,
    }),
    compared,
  };
}

async function metricsOf({ call }: TestServer, wanted: RegExp): Promise<string> {
  let text = '';
  await until(async () => wanted.test((text = (await call('GET', '/metrics')).text)), `no ${wanted} in the metrics`);
  return text;
}

test('a search is checked, and Prometheus has what it found', async () => {
  const server = await startTestServer({}, { recallSampleMs: 1 });
  for (const docid of ['A', 'B', 'C'])
    await server.call('POST', '/v1/collections/acme/docs/documents', {
      docid,
      text: `whale ${docid}`,
      metadata: { docid },
    });
  assert.doesNotMatch((await server.call('GET', '/metrics')).text, /^sheaf_recall_at_k/m);
  await server.call('POST', '/v1/collections/acme/docs/search', { q: 'whale', filters: { docid: ['A', 'B'] } });
  const text = await metricsOf(server, /^sheaf_recall_checks_total\{precision="int16"\} 1$/m);
  assert.match(text, /^sheaf_recall_at_k\{precision="int16"\} 1$/m);
  assert.deepEqual(server.faults, []);
});

test('the latest of a collection count most; the lowest is the worst that has been looked at long enough', async () => {
  const registry = new Registry();
  const metrics = new RecallMetrics(registry);
  const check = (id: number, found: number, times: number): void =>
    Array.from({ length: times }).forEach(() => metrics.checked(id as CollectionId, 'int8', { found, wanted: 10 }));
  const valueOf = (name: string): number =>
    Number(new RegExp(`^${name}\\{precision="int8"\\} (.*)$`, 'm').exec([...registry.texts()].join('\n'))?.[1]);
  check(1, 10, 10);
  check(2, 5, 4);
  assert.equal(valueOf('sheaf_recall_at_k'), 120 / 140);
  assert.equal(valueOf('sheaf_recall_at_k_lowest'), 1);
  check(2, 5, 1);
  assert.equal(valueOf('sheaf_recall_at_k_lowest'), 0.5);
  check(2, 10, 1000);
  assert.ok(valueOf('sheaf_recall_at_k_lowest') > 0.99);
  for (let id = 10; id < 1000; id++) check(id, 1, 1);
  assert.equal(valueOf('sheaf_recall_at_k'), 0.1);
  metrics.reset();
  assert.ok(Number.isNaN(valueOf('sheaf_recall_at_k')));
});

test('the depth is bounded, and one search is kept at a time', async () => {
  const { sampler, compared } = createSampler({});
  for (let i = 0; i < 5; i++) sampler.offer({} as Collection, search);
  await sleep(150);
  assert.deepEqual(
    compared.map(({ k }) => k),
    [100],
  );
  sampler.close();
});

test('nothing is checked while others search, when switched off, or once closed; a check that fails is no internal error', async () => {
  let isBusy = true;
  const busy = createSampler({ isBusy: () => isBusy });
  busy.sampler.offer({} as Collection, search);
  await sleep(150);
  assert.equal(busy.compared.length, 0);
  isBusy = false;
  await until(() => busy.compared.length > 0, 'no search is compared');
  const [off, closed] = [createSampler({ everyMs: 0 }), createSampler({})];
  closed.sampler.offer({} as Collection, search);
  closed.sampler.close();
  off.sampler.offer({} as Collection, search);
  const failing = createSampler({
    compare: () => Promise.reject(new Error('gone')),
    sampled: () => assert.fail('nothing was found'),
  });
  failing.sampler.offer({} as Collection, search);
  await sleep(150);
  assert.deepEqual([off.compared.length, closed.compared.length], [0, 0]);
});
