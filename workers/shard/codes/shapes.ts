// How long the codes of an index are: by its dimensions and by how much its recall asks for. Pure; used by tending.ts.
export interface CodeShape {
  /** A multiple of 32. */
  readonly bytes: number;
  /** Axes to choose from. */
  readonly axes: number;
}

/** Rows of so few dimensions are as near as their codes. */
const DIM_MIN = 33;
/** All of so few dimensions have eight bits in half a line of memory. */
const HALF_LINE_DIM = 64;
/** At two bits so many axes fill a line. */
const AXES_PER_LINE = 256;

/** The shapes worth trying, the shortest first: one line of memory, and two; after the last, walks go by rows. */
export function shapesFor(dim: number): CodeShape[] {
  if (dim < DIM_MIN) return [];
  const lines = dim <= HALF_LINE_DIM ? [0.5, 1] : [1, 2];
  return lines.map((count) => ({ bytes: 64 * count, axes: Math.min(dim, AXES_PER_LINE * Math.max(1, count)) }));
}
