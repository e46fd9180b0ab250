// How the bits of a quantized vector are allotted to components: all bits are used, components of larger variance get
// more, and the mean is among them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../../src/base/prng.js';
import { planSlots, type Measured, type SlotPlan } from '../../../../src/engine/quantization/training.js';

const evenly = (count: number, variance = 0.01): Measured[] =>
  Array.from({ length: count }, () => ({ variance, mean: 0 }));
const falling = (count: number, power: number): Measured[] =>
  Array.from({ length: count }, (_, i) => ({ variance: (i + 1) ** -power, mean: 0 }));

function bitsOf({ slots4, slots2 }: SlotPlan, component: number): number {
  return (
    4 * slots4.filter((slot) => slot.component === component).length +
    2 * slots2.filter((slot) => slot.component === component && slot.step > 0).length
  );
}

test('a plan uses all bits of the quantized vector in whole blocks, and a slot refines only an earlier one', () => {
  const prng = createPrng(5);
  for (const bytes of [32, 64, 128]) {
    for (const components of [evenly(64 * (bytes / 32)), falling(300, 0.3), falling(300, 1), falling(200, 3)]) {
      const shuffled = components.map(({ variance }) => ({ variance, mean: prng.next() < 0.1 ? 0.5 : 0 }));
      const plan = planSlots(shuffled, bytes);
      const slots = [...plan.slots4, ...plan.slots2];
      assert.equal(plan.slots4.length / 2 + plan.slots2.length / 4, bytes);
      assert.deepEqual([plan.slots4.length % 32, plan.slots2.length % 64], [0, 0]);
      for (const [place, { component, parent, step }] of slots.entries()) {
        if (parent === undefined) continue;
        assert(parent < place || slots[parent]!.parent === undefined, `slot ${place} refines ${parent}`);
        assert.equal(slots[parent]!.component, component);
        assert.equal(slots[parent]!.step / step, place < plan.slots4.length ? 16 : 4);
      }
    }
  }
});

test('a component of more variance has no fewer bits', () => {
  const components = falling(250, 1);
  const plan = planSlots(components, 64);
  const bits = components.map((_, component) => bitsOf(plan, component));
  assert.deepEqual(
    bits,
    bits.toSorted((a, b) => b - a),
  );
  assert(bits[0]! >= 6 && bits.at(-1) === 0, bits.join(' '));
});

test('a component with a larger mean gets more bits, since the mean adds to every score', () => {
  const components = evenly(128);
  const means = [0, 0.2, 0.7].map((mean) => bitsOf(planSlots([{ variance: 0.002, mean }, ...components], 64), 0));
  assert.deepEqual(
    means,
    means.toSorted((a, b) => a - b),
  );
  assert(means[0]! <= 4 && means[2]! >= 6, means.join(' '));
});

test('components without variance have no bits, and where there are few a quantized vector has room left', () => {
  const components = [...evenly(3), { variance: 0, mean: 0.9 }];
  const plan = planSlots(components, 32);
  assert.equal(bitsOf(plan, 3), 0);
  assert.equal(plan.slots4.length / 2 + plan.slots2.length / 4, 32);
  assert.deepEqual(
    [0, 1, 2].map((component) => bitsOf(plan, component)),
    [10, 10, 10],
  );
});
