// Runs work on items concurrently, and yields the results in the order of the items. Pure.

/**
 * At most `underWayMax` items are under way or wait to be read, so a slow reader holds the work back. As often as that
 * many have been started, other tasks of the thread get a turn. Throws what `work` rejects with.
 */
export async function* inOrder<T, R>(
  items: readonly T[],
  underWayMax: number,
  work: (item: T) => Promise<R>,
): AsyncGenerator<R, void> {
  const underWay: Promise<R>[] = [];
  for (const [i, item] of items.entries()) {
    if (i > 0 && i % underWayMax === 0) await new Promise(setImmediate);
    if (underWay.length === underWayMax) yield underWay.shift() as Promise<R>;
    const result = work(item);
    // Rejections are thrown in their turn, and are of no interest once the reader has stopped.
    result.catch(() => undefined);
    underWay.push(result);
  }
  yield* underWay;
}
