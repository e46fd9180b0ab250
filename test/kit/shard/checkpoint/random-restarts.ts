// Random writes, background work, checkpoints and restarts of a shard, compared with the store and a naive twin after
// each.
import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createPrng } from '../../../../src/base/prng.js';
import { inspectGraph } from '../graph-inspector.js';
import { refOf, World } from './world.js';

export const LARGE = refOf(1, 40);
export const SMALL = refOf(2, 8);

/** `LARGE` has a graph, codes and indexes of terms. */
export function fill(world: World, documents: number): void {
  for (let from = 0; from < documents; from += 200)
    world.write(Array.from({ length: 200 }, (_, i) => world.put(LARGE, `D${from + i}`)));
  world.write([world.put(SMALL, 'A'), world.put(SMALL, 'B')]);
  world.work(Infinity);
  world.indexTerms(LARGE);
}

export async function writeAndRestart(seed: number): Promise<void> {
  const prng = createPrng(seed);
  // The second arena is in use where the first is small.
  const world = new World(prng, [LARGE, SMALL], seed % 2 === 0 ? 44 : 4096);
  fill(world, 1800);
  for (let round = 0; round < 10; round++) {
    const label = `round ${round}`;
    for (let step = prng.int(4); step > 0; step--) {
      world.churn(LARGE, 1 + prng.int(60), 2000);
      world.churn(SMALL, 1 + prng.int(5), 12);
      world.work(prng.int(20));
    }
    if (prng.int(4) === 0) world.indexTerms(prng.int(2) === 0 ? LARGE : SMALL);
    if (prng.int(3) > 0) await beside(world, round);
    for (let step = prng.int(4); step > 0; step--)
      world.churn(prng.int(2) === 0 ? LARGE : SMALL, 1 + prng.int(40), 2000);
    world.restart();
    assert.deepEqual(world.notes, [], label);
    world.check(label);
    world.work(prng.int(40));
  }
  assert.equal(world.shard.arenas.used().length, seed % 2 === 0 ? 2 : 1);
  world.work(Infinity);
  world.check('in the end');
  for (const part of world.shard.parts.of(LARGE.id)) {
    const { badLinks, unreachable } = inspectGraph(world.memories[part.arena] as WebAssembly.Memory, part.index.root);
    assert.deepEqual([badLinks, unreachable], [0, 0]);
  }
}

/** A checkpoint while writes and background work go on. */
async function beside(world: World, round: number): Promise<void> {
  let isWriting = true as boolean;
  const written = world.checkpoint(round % 5 === 4).finally(() => (isWriting = false));
  while (isWriting && round % 5 !== 4) {
    await nextTurn();
    if (world.shard.stillness.whenOver) continue;
    if (world.prng.int(3) === 0) world.churn(world.prng.int(2) === 0 ? LARGE : SMALL, 1 + world.prng.int(5), 2000);
    else world.work(1);
  }
  assert.ok(await written, 'a checkpoint comes about');
}
