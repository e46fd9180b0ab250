// Checkpoints of a shard under random operations and restarts, for longer than test/unit does.
import { test } from 'node:test';
import { SEEDS } from '../../../../kit/shard/kernel-kit.js';
import { writeAndRestart } from '../../../../kit/shard/checkpoint/random-restarts.js';

for (const seed of SEEDS.slice(2)) {
  test(`random writes, background work, checkpoints and restarts (seed ${seed})`, () => writeAndRestart(seed));
}
