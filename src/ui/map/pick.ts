// Which point is meant: the one under the pointer, or the next one in the direction of an arrow key. Pure.
// Called by point-map.tsx; places are x, y of each in px.

/** Undefined where none is within `reach`. */
export function nearestTo(places: Float32Array, x: number, y: number, reach: number): number | undefined {
  let best: number | undefined;
  let least = reach;
  for (let i = 0; i < places.length / 2; i++) {
    const distance = Math.hypot((places[i * 2] as number) - x, (places[i * 2 + 1] as number) - y);
    if (distance < least) [best, least] = [i, distance];
  }
  return best;
}

const DIRECTIONS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/**
 * The nearest within a right angle around the direction; without one chosen before, the first. Undefined for other
 * keys, and at the rim.
 */
export function nextInDirection(places: Float32Array, from: number | undefined, key: string): number | undefined {
  const direction = DIRECTIONS[key];
  if (!direction || places.length === 0) return undefined;
  if (from === undefined) return 0;
  let best: number | undefined;
  let least = Infinity;
  for (let i = 0; i < places.length / 2; i++) {
    const [dx, dy] = [
      (places[i * 2] as number) - (places[from * 2] as number),
      (places[i * 2 + 1] as number) - (places[from * 2 + 1] as number),
    ];
    const along = dx * direction[0] + dy * direction[1];
    const distance = Math.hypot(dx, dy);
    if (i !== from && along > 0 && along >= distance * Math.SQRT1_2 && distance < least) [best, least] = [i, distance];
  }
  return best;
}
