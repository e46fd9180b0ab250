// The text of counters, gauges and histograms, compared with that of prom-client on random values: the same lines.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as library from 'prom-client';
import { createPrng } from '../../../src/base/prng.js';
import { Counter, Histogram, Registry } from '../../../src/observability/prometheus.js';

const BOUNDS = [0.001, 0.01, 0.1, 1];
const HELP = 'Things \\ of\nthe test.';
const linesOf = (registry: Registry): string[] => [...registry.texts()].join('\n\n').split('\n').sort();
const linesOfLibrary = async (registry: library.Registry): Promise<string[]> =>
  (await registry.metrics()).trimEnd().split('\n').sort();

test('a histogram has the buckets that the library would have counted', async () => {
  const random = createPrng(1);
  const [ours, theirs] = [new Registry(), new library.Registry()];
  const histogram = new Histogram(ours, 'h', 'Times.', ['a', 'b'], BOUNDS);
  const naive = new library.Histogram({
    name: 'h',
    help: 'Times.',
    labelNames: ['a', 'b'],
    buckets: BOUNDS,
    registers: [theirs],
  });
  for (let n = 0; n < 2000; n++) {
    const [a, b] = [`a${random.int(3)}`, random.next() < 0.5 ? 'x' : 'y "quoted",\n\\n\\'];
    // Some values are on a bound. Sums of binary fractions are exact.
    const value = random.next() < 0.2 ? (BOUNDS[n % 4] as number) : random.int(2048) / 1024;
    histogram.add(value, a, b);
    naive.labels(a, b).observe(value);
  }
  const rounded = (all: string[]): string[] =>
    all.map((line) => (line.startsWith('h_sum') ? line.replace(/(\.\d{9})\d+$/, '$1') : line));
  assert.deepEqual(rounded(linesOf(ours)), rounded(await linesOfLibrary(theirs)));
});

test('one without labels is there before anything is counted, and after a reset', async () => {
  const registry = new Registry();
  const histogram = new Histogram(registry, 'h', 'Times.', [], [1]);
  const empty = linesOf(registry);
  assert.ok(empty.includes('h_count 0') && empty.includes('h_bucket{le="1"} 0'));
  histogram.add(0.5);
  assert.ok(linesOf(registry).includes('h_count 1'));
  histogram.reset();
  assert.deepEqual(linesOf(registry), empty);
});

test('counters count by their labels, and start again at a reset', async () => {
  const [ours, theirs] = [new Registry(), new library.Registry()];
  const counter = new Counter(ours, 'c_total', HELP, ['a', 'b']);
  const naive = new library.Counter({ name: 'c_total', help: HELP, labelNames: ['a', 'b'], registers: [theirs] });
  const random = createPrng(2);
  for (let n = 0; n < 500; n++) {
    const values = [`a${random.int(4)}`, `b${random.int(4)}`] as const;
    counter.inc(...values);
    naive.labels(...values).inc();
  }
  assert.deepEqual(linesOf(ours), await linesOfLibrary(theirs));
  counter.reset();
  naive.reset();
  assert.deepEqual(linesOf(ours), await linesOfLibrary(theirs));
});

test('gauges and counters that are looked up have the lines of the library, each number of them', async () => {
  const [ours, theirs] = [new Registry(), new library.Registry()];
  const samples: [string[], number][] = [
    [['a', 'one'], 0],
    [['a', 'two "quoted"'], -1.5],
    [['b', '\\ and\n'], Infinity],
    [['b', 'one'], 1e21],
  ];
  ours.gauges('g', HELP, ['a', 'b'], () => samples);
  ours.counters('c_total', HELP, ['a', 'b'], () => samples.filter(([, value]) => value >= 0));
  ours.gauge('one', HELP, () => -Infinity);
  ours.counter('two_total', HELP, () => 0.1 + 0.2);
  const common = { help: HELP, registers: [theirs] };
  const gauge = new library.Gauge({ ...common, name: 'g', labelNames: ['a', 'b'] });
  const counter = new library.Counter({ ...common, name: 'c_total', labelNames: ['a', 'b'] });
  for (const [labels, value] of samples) {
    gauge.labels(...labels).set(value);
    if (value >= 0 && Number.isFinite(value)) counter.labels(...labels).inc(value);
  }
  new library.Gauge({ ...common, name: 'one' }).set(-Infinity);
  new library.Counter({ ...common, name: 'two_total' }).inc(0.1 + 0.2);
  const known = (line: string): boolean => line !== 'c_total{a="b",b="\\\\ and\\n"} +Inf';
  assert.deepEqual(linesOf(ours).filter(known), await linesOfLibrary(theirs), 'but that it counts nothing infinite');
  assert.throws(() => ours.gauge('g', HELP, () => 0), /one metric of the name g/);
});
