// Builds quantized vectors for an index: chooses their length, trains principal components on a sample of the rows,
// assigns bits to components, encodes all rows, and replaces the old quantized vectors. Each `next()` runs one slice,
// so that the owner can do other work in between; rows written meanwhile are encoded in both forms. Owner only.
import type { Instance } from '../memory/bindings.js';
import { NONE, PLAN_BYTES, PLAN_COMPONENT, PLAN_PARENT, PLAN_STEP, ROOT_DIM, ROOT_ROWS_END } from '../memory/layout.js';

/** Size of quantized vectors. It depends on the dimension of the vectors and on the recall that is needed. */
export interface Quantization {
  /** Bytes of a quantized vector, a multiple of 32. */
  readonly bytes: number;
  /** Number of principal components to choose from. */
  readonly components: number;
}

/** With fewer dimensions, reading rows is as fast as reading quantized vectors. */
const DIM_MIN = 33;
/** Up to this many dimensions, every component gets eight bits within half a cache line. */
const HALF_LINE_DIM = 64;
/** Number of components that fill a cache line at two bits each. */
const COMPONENTS_PER_LINE = 256;

/**
 * The sizes worth trying, shortest first: half a line and one of 64 bytes for few dimensions, otherwise one and two. If
 * none suffices, graph searches use full rows. Empty for very few dimensions.
 */
export function quantizationsFor(dim: number): Quantization[] {
  if (dim < DIM_MIN) return [];
  const lines = dim <= HALF_LINE_DIM ? [0.5, 1] : [1, 2];
  return lines.map((count) => ({
    bytes: 64 * count,
    components: Math.min(dim, COMPONENTS_PER_LINE * Math.max(1, count)),
  }));
}

// Bit allocation: each component gets as many bits as reduce the error of scores most. The quantization error along a
// component changes a score in proportion to the query's value along it. If queries were distributed like rows, a
// component would count by its variance, for the rows, times its mean square, for the queries. Queries that are hard to
// answer are spread more evenly, so the variance counts with the power of 1.25, which served all data sets best
// (docs/internals/quantization.md). The mean of all rows, which is a component of its own, counts in full: it may have
// little variance and still the largest share of every score. Bits are given two at a time where they reduce the error
// most (Gersho and Gray, Vector Quantization and Signal Compression, 8.3).

/** Variance and mean of the sample along a component. */
export interface Measured {
  readonly variance: number;
  readonly mean: number;
}

/** A slot of 4 or 2 bits in the quantized vector. */
interface Slot {
  readonly component: number;
  /** Quantization step, in standard deviations of the component. */
  readonly step: number;
  /** Index of the slot that this one refines. */
  readonly parent?: number;
}

/** The slots of a quantized vector. */
export interface SlotPlan {
  /**
   * Slots of 4 bits, a multiple of 32 in number, then slots of 2 bits, a multiple of 64. In each group the slots that
   * refine no other come first.
   */
  readonly slots4: readonly Slot[];
  readonly slots2: readonly Slot[];
}

/**
 * By number of bits: mean square error of the optimal uniform quantizer for a normal distribution of variance 1, and
 * its step (Max 1960; beyond 5 bits computed in the same way).
 */
const ERRORS = new Map([
  [0, 1],
  [2, 0.1188],
  [4, 0.01154],
  [6, 0.00104],
  [8, 0.0000855],
  [10, 0.0000075],
]);
const STEPS = new Map([
  [2, 0.996],
  [4, 0.335],
  [6, 0.1041],
  [8, 0.0308],
  [10, 0.0089],
]);
const SLOTS_4_STEP = 32;
/** Padding that adds nothing to any score. */
const UNUSED: Slot = { component: 0, step: 0 };
const VARIANCE_POWER = 1.25;

/** Assigns slots to components for quantized vectors of `bytes` bytes, a multiple of 32. */
export function planSlots(components: readonly Measured[], bytes: number): SlotPlan {
  const bits = bitsOf(components, 4 * bytes);
  const order = [...bits.keys()]
    .filter((component) => bits[component]! > 0)
    .sort((a, b) => bits[b]! - bits[a]! || a - b);
  const wanted4 = bits.reduce((sum, count) => sum + (count >> 2), 0);
  const count4 = Math.floor(wanted4 / SLOTS_4_STEP) * SLOTS_4_STEP;
  let left4 = count4;
  const plans = order.map((component) => {
    const fours = Math.min(left4, bits[component]! >> 2);
    left4 -= fours;
    return {
      component,
      widths: [...Array<4>(fours).fill(4), ...Array<2>((bits[component]! - 4 * fours) >> 1).fill(2)],
    };
  });
  // Parents are looked up at the end, when the order of all slots is known.
  const slots = plans.flatMap(({ component, widths }) =>
    widths.map((width, place) => {
      const below = widths.slice(place + 1).reduce((sum: number, next) => sum + next, 0);
      return { component, width, place, step: STEPS.get(bits[component]!)! * 2 ** below };
    }),
  );
  const ofWidth = (width: number): typeof slots =>
    slots.filter((slot) => slot.width === width).sort((a, b) => Number(a.place > 0) - Number(b.place > 0));
  const inOrder = [...ofWidth(4), ...ofWidth(2)];
  const parentOf = ({ component, place }: (typeof slots)[number]): number =>
    inOrder.findIndex((other) => other.component === component && other.place === place - 1);
  const planned = inOrder.map((slot) => ({
    component: slot.component,
    step: slot.step,
    ...(slot.place > 0 && { parent: parentOf(slot) }),
  }));
  const slots2: Slot[] = planned.slice(count4);
  while (2 * count4 + slots2.length < 4 * bytes) slots2.push(UNUSED);
  return { slots4: planned.slice(0, count4), slots2 };
}

/**
 * The bits of each component, a multiple of 2. Their sum is twice `pairs`, or less if all components have the maximum.
 */
function bitsOf(components: readonly Measured[], pairs: number): number[] {
  const bits = components.map(() => 0);
  const gains = components.map((_, component) => gainOf(components[component]!, 0));
  for (let i = 0; i < pairs; i++) {
    const best = gains.reduce((place, gain, component) => (gain > gains[place]! ? component : place), 0);
    if (gains[best]! < 0) break;
    bits[best]! += 2;
    gains[best] = gainOf(components[best]!, bits[best]!);
  }
  return bits;
}

/** By how much two more bits reduce the error; negative if the component cannot get more. */
function gainOf({ variance, mean }: Measured, bits: number): number {
  const next = ERRORS.get(bits + 2);
  if (next === undefined || variance <= 0) return -1 - bits;
  return variance ** VARIANCE_POWER * (1 + (mean * mean) / variance) * (ERRORS.get(bits)! - next);
}

/** Number of rows in the sample for the covariance, and rounds of orthogonal iteration. */
const SAMPLE_ROWS = 10_000;
const LEARN_ROUNDS = 12;
/** Multiplications in a slice of training, which take well below a millisecond. */
const SLICE_PRODUCTS = 2_400_000;

/**
 * Trains principal components by orthogonal iteration on the covariance of a sample, and encodes all rows. Returns true
 * once the new quantized vectors are in use, false if memory is full; the old ones then stay. Requires at least two
 * live rows.
 */
export function* learn(instance: Instance, root: number, quantization: Quantization): Generator<undefined, boolean> {
  const { calls } = instance;
  if (!calls.createQuantizer(root, quantization.components, quantization.bytes)) return false;
  const dim = instance.word(root + ROOT_DIM);
  const { components } = quantization;
  yield* sample(instance, root, dim);
  yield* sliced(components, dim, (from, end) => calls.beginBasis(root, from, end));
  for (let round = 0; round < LEARN_ROUNDS; round++) {
    yield* sliced(dim, components * dim, (from, end) => calls.multiplyBasis(root, from, end));
    yield* sliced(components, 2 * components * dim, (from, end) => calls.orthogonalize(root, from, end));
  }
  yield* sliced(components, dim * dim, (from, end) => calls.measureComponents(root, from, end));
  const slots = plan(instance, root, quantization);
  if (slots === 0) return false;
  yield* sliced(slots, dim, (from, end) => calls.writeComponents(root, from, end));
  calls.finishComponents(root);
  return yield* encode(instance, root, slots * dim);
}

/**
 * Assigns bits to components. Returns the number of slots, or 0 if memory is full, after dropping the new quantized
 * vectors.
 */
function plan(instance: Instance, root: number, { components, bytes }: Quantization): number {
  const at = instance.calls.measuredAt(root) >>> 0;
  const measured = instance.copyFloats(at, 2 * components);
  const { slots4, slots2 } = planSlots(
    Array.from({ length: components }, (_, component) => ({
      variance: measured[2 * component]!,
      mean: measured[2 * component + 1]!,
    })),
    bytes,
  );
  const slots = [...slots4, ...slots2];
  const words = new Uint32Array((slots.length * PLAN_BYTES) >> 2);
  const floats = new Float32Array(words.buffer);
  slots.forEach(({ component, parent, step }, slot) => {
    const at = slot * PLAN_BYTES;
    words[(at + PLAN_COMPONENT) >> 2] = component;
    words[(at + PLAN_PARENT) >> 2] = parent ?? NONE;
    floats[(at + PLAN_STEP) >> 2] = step;
  });
  const input = instance.reserveInput(words.byteLength);
  instance.writeWords(input, words);
  const [first4, first2] = [slots4, slots2].map((some) => some.filter(({ parent }) => parent === undefined).length);
  if (instance.calls.planQuantizer(root, input, slots4.length, slots2.length, first4!, first2!)) return slots.length;
  instance.calls.dropNext(root);
  return 0;
}

/** Computes the covariance of rows that are spread evenly over the index. */
function* sample(instance: Instance, root: number, dim: number): Generator<undefined, void> {
  const { calls } = instance;
  const end = instance.word(root + ROOT_ROWS_END);
  const step = Math.max(1, Math.floor(end / SAMPLE_ROWS));
  const sliceRows = 2 * sliceOf(dim * dim);
  for (let from = 0; from < end; from += sliceRows * step) {
    calls.sampleRows(root, from, Math.min(sliceRows, Math.ceil((end - from) / step)), step);
    yield;
  }
  calls.finishMean(root);
  yield* sliced(dim, 4 * dim, (from, to) => calls.finishCovariance(root, from, to));
}

/** Encodes all rows. Rows added meanwhile are encoded when they are staged. */
function* encode(instance: Instance, root: number, products: number): Generator<undefined, boolean> {
  const { calls } = instance;
  const sliceRows = sliceOf(products);
  for (let from = 0; from < instance.word(root + ROOT_ROWS_END); from += sliceRows) {
    if (
      !calls.encodeRows(instance.scratch, root, from, Math.min(instance.word(root + ROOT_ROWS_END), from + sliceRows))
    ) {
      calls.dropNext(root);
      return false;
    }
    yield;
  }
  calls.exchangeQuantizers(root);
  return true;
}

/** Runs `work` over `count` items in slices. `products` is the number of multiplications for one item. */
function* sliced(
  count: number,
  products: number,
  work: (from: number, end: number) => void,
): Generator<undefined, void> {
  const step = sliceOf(products);
  for (let from = 0; from < count; from += step) {
    work(from, Math.min(count, from + step));
    yield;
  }
}

const sliceOf = (products: number): number => Math.max(1, Math.floor(SLICE_PRODUCTS / products));
