// How the bits of a code are given to axes: to each as many as lessen the error of scores most. Pure; used by learning.ts.
//
// A code's error along an axis adds to the score of a row by as much as the query has along that axis. If queries lay as
// rows do, an axis would count by its variance, for the rows, times its mean square, for the queries. Those that are
// hard to answer lie more evenly, so the variance counts with the power of 1.25 that served all sets best (README.md);
// but the mean of all rows, an axis of its own, counts in full: it may have little variance and the largest share in
// every score. Bits are given two at a time where they take off most (Gersho & Gray, Vector Quantization and Signal
// Compression, 8.3).

/** What the sample says of an axis. */
export interface Measured {
  readonly variance: number;
  readonly mean: number;
}

/** A place of 4 or 2 bits in the code. */
interface Slot {
  readonly axis: number;
  /** Its step, in standard deviations of the axis. */
  readonly step: number;
  /** The slot whose steps it divides. */
  readonly parent?: number;
}

export interface SlotPlan {
  /** Of 4 bits, a multiple of 32, then of 2 bits, a multiple of 64; of each the first of their axes stand first. */
  readonly slots4: readonly Slot[];
  readonly slots2: readonly Slot[];
}

/**
 * By bits: the mean square error of the best even steps for a normal distribution of variance 1, and that step (Max
 * 1960; beyond 5 bits computed in the same way).
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
/** Adds nothing to any score. */
const UNUSED: Slot = { axis: 0, step: 0 };
const VARIANCE_POWER = 1.25;

/** For codes of `bytes`, a multiple of 32. */
export function planSlots(axes: readonly Measured[], bytes: number): SlotPlan {
  const bits = bitsOf(axes, 4 * bytes);
  const order = [...bits.keys()].filter((axis) => bits[axis]! > 0).sort((a, b) => bits[b]! - bits[a]! || a - b);
  const wanted4 = bits.reduce((sum, count) => sum + (count >> 2), 0);
  const count4 = Math.floor(wanted4 / SLOTS_4_STEP) * SLOTS_4_STEP;
  let left4 = count4;
  const parts = order.map((axis) => {
    const fours = Math.min(left4, bits[axis]! >> 2);
    left4 -= fours;
    return { axis, widths: [...Array<4>(fours).fill(4), ...Array<2>((bits[axis]! - 4 * fours) >> 1).fill(2)] };
  });
  // The place of a slot is known when the first ones of all axes have theirs.
  const slots = parts.flatMap(({ axis, widths }) =>
    widths.map((width, place) => {
      const below = widths.slice(place + 1).reduce((sum: number, next) => sum + next, 0);
      return { axis, width, place, step: STEPS.get(bits[axis]!)! * 2 ** below };
    }),
  );
  const ofWidth = (width: number): typeof slots =>
    slots.filter((slot) => slot.width === width).sort((a, b) => Number(a.place > 0) - Number(b.place > 0));
  const inOrder = [...ofWidth(4), ...ofWidth(2)];
  const parentOf = ({ axis, place }: (typeof slots)[number]): number =>
    inOrder.findIndex((other) => other.axis === axis && other.place === place - 1);
  const planned = inOrder.map((slot) => ({
    axis: slot.axis,
    step: slot.step,
    ...(slot.place > 0 && { parent: parentOf(slot) }),
  }));
  const slots2: Slot[] = planned.slice(count4);
  while (2 * count4 + slots2.length < 4 * bytes) slots2.push(UNUSED);
  return { slots4: planned.slice(0, count4), slots2 };
}

/** The bits of each axis, a multiple of 2; twice `pairs` in all, less where all axes have the most there is. */
function bitsOf(axes: readonly Measured[], pairs: number): number[] {
  const bits = axes.map(() => 0);
  const gains = axes.map((_, axis) => gainOf(axes[axis]!, 0));
  for (let i = 0; i < pairs; i++) {
    const best = gains.reduce((place, gain, axis) => (gain > gains[place]! ? axis : place), 0);
    if (gains[best]! < 0) break;
    bits[best]! += 2;
    gains[best] = gainOf(axes[best]!, bits[best]!);
  }
  return bits;
}

/** What two more bits take off the error; less than nothing where there cannot be more. */
function gainOf({ variance, mean }: Measured, bits: number): number {
  const next = ERRORS.get(bits + 2);
  if (next === undefined || variance <= 0) return -1 - bits;
  return variance ** VARIANCE_POWER * (1 + (mean * mean) / variance) * (ERRORS.get(bits)! - next);
}
