// Collections of vectors that nobody here has embedded: how many numbers one has, and a vector as it is typed.
// Pure; for the forms that make such collections, fill and search them.

/** Of the key of a vector space; undefined where texts are embedded. */
export function ownDim(spaceKey: string | undefined): number | undefined {
  const dim = /^identity::dim=(\d+)$/.exec(spaceKey ?? '')?.[1];
  return dim === undefined ? undefined : Number(dim);
}

/** `[0.1, 0.2]` as numbers; undefined for other texts. */
export function vectorOf(text: string): number[] | undefined {
  if (!/^\s*\[[-+\d.eE,\s]+\]\s*$/.test(text)) return undefined;
  try {
    return JSON.parse(text) as number[];
  } catch {
    return undefined;
  }
}
