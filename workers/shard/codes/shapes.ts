// How many axes a code has, at how many bits: by the dimensions of the index and by how much its recall asks for. Pure;
// used by tending.ts.
export interface CodeShape {
  /** A multiple of 32. */
  readonly axes4: number;
  /** A multiple of 64. */
  readonly axes2: number;
}

/** One line of memory, and two; README.md has what they find. */
const SHAPES: readonly CodeShape[] = [
  { axes4: 64, axes2: 128 },
  { axes4: 128, axes2: 256 },
];
/** With so many axes at 4 bits at most, all dimensions are kept: as many fill a line, and two. */
const FULL_AXES = [128, 256];
/** Rows of so few dimensions are as near as their codes. */
const DIM_MIN = 33;

/** The shapes worth trying, the smallest first; after the last, walks go by rows. */
export function shapesFor(dim: number): CodeShape[] {
  if (dim < DIM_MIN) return [];
  const shapes = SHAPES.map((shape, i) =>
    dim <= FULL_AXES[i]! ? { axes4: Math.ceil(dim / 32) * 32, axes2: 0 } : shape,
  );
  return shapes.filter((shape, i) => i === 0 || shape.axes4 > shapes[i - 1]!.axes4);
}
