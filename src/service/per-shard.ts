// Asks each shard about its items in one go, all shards side by side.
// Used where recall is measured, on the front thread.

/** The answers stand in the order of `items`; `ask` answers in the order of those it is given. */
export async function perShard<I extends { readonly shard: number }, A>(
  items: readonly I[],
  ask: (shard: number, items: I[]) => Promise<A[]>,
): Promise<A[]> {
  const byShard = new Map<number, number[]>();
  items.forEach(({ shard }, i) => (byShard.get(shard) ?? byShard.set(shard, []).get(shard))?.push(i));
  const answers = new Array<A>(items.length);
  const asked = [...byShard].map(async ([shard, indices]) => {
    const ofShard = await ask(
      shard,
      indices.map((i) => items[i] as I),
    );
    indices.forEach((i, n) => (answers[i] = ofShard[n] as A));
  });
  await Promise.all(asked);
  return answers;
}
