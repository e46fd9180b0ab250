// A list that may grow without end, of which what is over goes when there is too much of it.
// Pure; used for uploads.

/** All that are not over, and of the others the latest `max`; in their order. */
export function keptOf<T>(entries: readonly T[], isOver: (entry: T) => boolean, max: number): T[] {
  let tooMany = entries.filter(isOver).length - max;
  return entries.filter((entry) => !isOver(entry) || tooMany-- <= 0);
}
