// Names in order, and where a name stands among them: by halving. Used by the catalog for the collections of a tenant.
// Pure.

export const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** How many of the sorted names are not behind `name`. */
export function placeBehind(names: readonly string[], name: string): number {
  let low = 0;
  let high = names.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compare(names[middle] as string, name) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
