// Counters and histograms of plain numbers against the metrics library's own, on random values: the same text.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Counter, Histogram, Registry } from 'prom-client';
import { createPrng } from '../../../src/base/prng.js';
import { CounterFamily, HistogramFamily } from '../../../src/observability/prometheus.js';

const BOUNDS = [0.001, 0.01, 0.1, 1];
const lines = async (registry: Registry): Promise<string[]> => (await registry.metrics()).split('\n').sort();

test('a histogram has the buckets that the library would have counted', async () => {
  const random = createPrng(1);
  const [ours, theirs] = [new Registry(), new Registry()];
  const family = new HistogramFamily(ours, { name: 'h', help: 'Times.', labelNames: ['a', 'b'], bounds: BOUNDS });
  const twin = new Histogram({
    name: 'h',
    help: 'Times.',
    labelNames: ['a', 'b'],
    buckets: BOUNDS,
    registers: [theirs],
  });
  for (let n = 0; n < 2000; n++) {
    const [a, b] = [`a${random.int(3)}`, random.next() < 0.5 ? 'x' : 'y "quoted",\n\\n\\'];
    // On a bound now and then. Sums of binary fractions are exact.
    const value = random.next() < 0.2 ? (BOUNDS[n % 4] as number) : random.int(2048) / 1024;
    family.add(value, a, b);
    twin.labels(a, b).observe(value);
  }
  const rounded = (all: string[]): string[] =>
    all.map((line) => (line.startsWith('h_sum') ? line.replace(/(\.\d{9})\d+$/, '$1') : line));
  assert.deepEqual(rounded(await lines(ours)), rounded(await lines(theirs)));
});

test('one without labels is there before anything is counted, and after a reset', async () => {
  const registry = new Registry();
  const family = new HistogramFamily(registry, { name: 'h', help: 'Times.', bounds: [1] });
  const empty = await lines(registry);
  assert.ok(empty.includes('h_count 0') && empty.includes('h_bucket{le="1"} 0'));
  family.add(0.5);
  assert.ok((await lines(registry)).includes('h_count 1'));
  family.reset();
  assert.deepEqual(await lines(registry), empty);
});

test('counters count by their labels, and start again at a reset', async () => {
  const [ours, theirs] = [new Registry(), new Registry()];
  const family = new CounterFamily(ours, { name: 'c_total', help: 'Things.', labelNames: ['a', 'b'] });
  const twin = new Counter({ name: 'c_total', help: 'Things.', labelNames: ['a', 'b'], registers: [theirs] });
  const random = createPrng(2);
  for (let n = 0; n < 500; n++) {
    const values = [`a${random.int(4)}`, `b${random.int(4)}`] as const;
    family.inc(...values);
    twin.labels(...values).inc();
  }
  assert.deepEqual(await lines(ours), await lines(theirs));
  family.reset();
  twin.reset();
  assert.deepEqual(await lines(ours), await lines(theirs));
});
