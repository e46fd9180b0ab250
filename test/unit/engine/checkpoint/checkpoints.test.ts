// When checkpoints are written: while something changes and at a clean stop, but not where nothing has changed or the
// segments are small.
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { createPrng } from '../../../../src/base/prng.js';
import { Checkpoints } from '../../../../src/engine/checkpoint/writer.js';
import { prepareTextIndex } from '../../../../src/engine/segments/indexes.js';
import { refOf, World } from '../../../kit/engine/checkpoint-world.js';
import { until } from '../../../kit/until.js';

const REF = refOf(1, 8);
const SELDOM_MS = 3_600_000;

function filled(): World {
  const world = new World(createPrng(1), [REF]);
  world.write(Array.from({ length: 400 }, (_, i) => world.put(REF, `D${i}`)));
  return world;
}

/** `told` collects the notes that checkpointing logs. */
function checkpointsOf(world: World, intervalMs: number, rowsMin = 1): { checkpoints: Checkpoints; told: string[] } {
  const told: string[] = [];
  return {
    told,
    checkpoints: new Checkpoints(
      world.shard,
      0,
      world.files,
      intervalMs,
      (_, __, message) => told.push(message),
      rowsMin,
    ),
  };
}

test('a checkpoint is written after each interval in which something has changed', async () => {
  const world = filled();
  const { checkpoints, told } = checkpointsOf(world, 20);
  await until(() => told.length === 1);
  world.churn(REF, 5, 400);
  await until(() => told.length === 2);
  await checkpoints.finish();
  assert.deepEqual(told, ['checkpoint written', 'checkpoint written'], 'the stop has nothing to add');
  world.restart();
  world.check('after the restart');
});

test('a clean stop writes what has changed since the start, and nothing where nothing has', async () => {
  const world = filled();
  const first = checkpointsOf(world, SELDOM_MS);
  await first.checkpoints.finish();
  assert.deepEqual(first.told, ['checkpoint written']);
  world.restart();
  assert.ok(world.shard.loads.areDone && world.shard.segments.of(REF.id)[0]);
  const second = checkpointsOf(world, SELDOM_MS);
  await second.checkpoints.finish();
  assert.deepEqual(second.told, []);
});

test('a text index that is still being built is left out at a stop', async () => {
  const world = filled();
  const segment = world.shard.segments.of(REF.id)[0];
  assert.ok(segment && !prepareTextIndex(world.shard, segment, -Infinity));
  const { checkpoints, told } = checkpointsOf(world, SELDOM_MS);
  await checkpoints.finish();
  assert.deepEqual(told, ['checkpoint written']);
  world.restart();
  assert.equal(world.shard.segments.of(REF.id)[0]?.textIndex, undefined);
  world.check('after the restart');
});

test('segments so small that the store loads them as fast have no checkpoint', async () => {
  const world = filled();
  const { checkpoints, told } = checkpointsOf(world, SELDOM_MS, 100_000);
  await checkpoints.finish();
  assert.deepEqual([told, existsSync(world.files.directory)], [[], false]);
});

test('a checkpoint that cannot be written is reported, and the server stops all the same', async () => {
  const world = filled();
  writeFileSync(`${world.directory}/checkpoints`, '');
  const { checkpoints, told } = checkpointsOf(world, SELDOM_MS);
  await checkpoints.finish();
  assert.deepEqual(told, ['a checkpoint could not be written']);
});
