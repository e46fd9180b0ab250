// Checkpoints of a shard under random operations and restarts, with seeds that take too long for test/unit.
import { test } from 'node:test';
import { SEEDS } from '../../../kit/engine/arena.js';
import { writeAndRestart } from '../../../kit/engine/checkpoint-world.js';

for (const seed of SEEDS.slice(2)) {
  test(`random writes, background work, checkpoints and restarts (seed ${seed})`, () => writeAndRestart(seed));
}
