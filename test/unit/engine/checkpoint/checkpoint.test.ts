// Checkpoints of a shard under random operations and restarts, compared with the store and a naive version. Uses real
// stores, files and kernels.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createPrng } from '../../../../src/base/prng.js';
import type { CollectionRef } from '../../../../src/api/collections.js';
import { Kernel } from '../../../../src/engine/memory/arena.js';
import { readKernelBytes as kernelBytes, SEEDS } from '../../../kit/engine/arena.js';
import { Writing } from '../../../../src/engine/checkpoint/writer.js';
import { LARGE, SMALL, World, fill, refOf, writeAndRestart } from '../../../kit/engine/checkpoint-world.js';

/** The bytes in use after every collection has been dropped. */
function bytesLeft(world: World): number {
  for (const { id } of world.refs) {
    world.shard.drop(id);
    world.naive.set(id, new Map());
  }
  while (world.shard.arenas.reclaim());
  return world.shard.arenas.used().reduce((sum, kernel) => sum + kernel.usedBytes(), 0);
}

// Seeds 3 and 4 run in test/system.
for (const seed of SEEDS.slice(0, 2)) {
  test(`random writes, background work, checkpoints and restarts (seed ${seed})`, () => writeAndRestart(seed));
}

test('unchanged collections are there at once, with their graphs and text indexes', async () => {
  const world = new World(createPrng(1), [LARGE, SMALL]);
  fill(world, 2400);
  const before = world.shard.segments.of(LARGE.id)[0];
  assert.ok(before && before.index.unindexedCount === 0);
  const rows = before.index.liveCount;
  const written = await world.checkpoint();
  assert.equal(written?.heldMs, 0, 'nobody is held up where nothing changes');
  world.restart();
  assert.ok(world.shard.loads.areDone, 'nothing is loaded');
  const segment = world.shard.segments.of(LARGE.id)[0];
  assert.deepEqual(
    [segment?.index.liveCount, segment?.index.unindexedCount, segment?.index.isTuning],
    [rows, 0, false],
  );
  assert.ok(segment?.textIndex?.complete && segment.fields?.complete);
  world.check('after the restart');
});

test('text indexes survive the removal and addition of rows, which the change log replays', async () => {
  const world = new World(createPrng(2), [LARGE, SMALL]);
  fill(world, 600);
  assert.ok(await world.checkpoint());
  for (let round = 0; round < 5; round++) world.churn(LARGE, 40, 700);
  world.restart();
  assert.ok(!world.shard.loads.areDone, 'it is brought up to date');
  world.check('after the restart');
  assert.ok(
    world.shard.segments.of(LARGE.id)[0]?.textIndex?.complete && world.shard.segments.of(LARGE.id)[0]?.fields?.complete,
  );
});

test('a text index that did not exist when rows were removed is built again', async () => {
  const world = new World(createPrng(3), [LARGE, SMALL]);
  fill(world, 600);
  assert.ok(await world.checkpoint());
  world.shard.loads.load(LARGE, Infinity);
  for (const segment of world.shard.segments.of(LARGE.id)) {
    world.shard.segments.announce(segment, { textIndex: 0 });
    segment.textIndex?.drop();
    segment.textIndex = undefined;
  }
  world.churn(LARGE, 40, 600);
  world.restart();
  world.check('after the restart');
  assert.equal(world.shard.segments.of(LARGE.id)[0]?.textIndex, undefined);
  world.indexTerms(LARGE);
  world.check('with words again');
});

test('collections that were dropped, created or changed since the checkpoint are as the catalog has them', async () => {
  const world = new World(createPrng(4), [LARGE, SMALL]);
  fill(world, 600);
  assert.ok(await world.checkpoint());
  const third = refOf(3, 8);
  world.refs.splice(1, 1, third);
  world.naive.set(third.id, new Map());
  world.write([world.put(third, 'X'), world.put(third, 'Y')]);
  world.restart();
  world.check('dropped and new');
  assert.equal(world.shard.segments.of(SMALL.id)[0], undefined);
  assert.deepEqual(world.shard.purges, [SMALL.id]);
  world.refs[0] = { ...LARGE, precision: 'int8' } satisfies CollectionRef;
  world.restart();
  while (!world.shard.loads.work(Infinity, false));
  assert.equal(world.shard.segments.of(LARGE.id)[0]?.ref.precision ?? 'int8', 'int8');
});

test('the text index is built again when the language has changed', async () => {
  const world = new World(createPrng(5), [LARGE]);
  fillOnly(world, LARGE);
  assert.ok(await world.checkpoint());
  world.refs[0] = { ...LARGE, language: 'english' };
  world.restart();
  assert.deepEqual(
    [world.shard.segments.of(LARGE.id)[0]?.textIndex, world.shard.segments.of(LARGE.id)[0]?.ref.language],
    [undefined, 'english'],
  );
  assert.ok(world.shard.segments.of(LARGE.id)[0]?.fields?.complete);
});

function fillOnly(world: World, ref: CollectionRef): void {
  world.write(Array.from({ length: 300 }, (_, i) => world.put(ref, `D${i}`)));
  world.indexTerms(ref);
}

test('the last pass blocks writers that never pause, and the checkpoint is consistent', async () => {
  const world = new World(createPrng(6), [LARGE, SMALL]);
  fill(world, 1200);
  let isWriting = true as boolean;
  const written = world.checkpoint().finally(() => (isWriting = false));
  while (isWriting) {
    if (!world.shard.writeFreeze.whenOver) world.churn(LARGE, 2, 1300);
    await nextTurn();
  }
  assert.ok(((await written)?.heldMs ?? 0) >= 0 && ((await written)?.passes ?? 0) > 2);
  world.restart();
  assert.deepEqual(world.notes, []);
  world.check('after the restart');
});

test('memory of dead threads, of retired blocks and of hidden rows is freed', async () => {
  const world = new World(createPrng(7), [LARGE, SMALL]);
  fill(world, 1200);
  const empty = bytesLeft(new World(createPrng(7), [LARGE, SMALL]));
  const reader = readerOf(world);
  world.write(Array.from({ length: 1100 }, (_, i) => world.remove(LARGE, `D${i}`)));
  world.work(3);
  assert.ok(await world.checkpoint());
  reader();
  for (let round = 0; round < 3; round++) {
    world.restart();
    world.check(`round ${round}`);
    world.churn(LARGE, 20, 1200);
    readerOf(world)();
    assert.ok(await world.checkpoint());
  }
  world.restart();
  // The owner's scratch memory and the directory of segments stay.
  const scratch = 2 * 2 ** 20;
  assert.ok(bytesLeft(world) <= empty + scratch, `${bytesLeft(world)} bytes are left, ${empty} before`);
});

/** Registers a reader, as a search thread would; returns the function that ends it. */
function readerOf(world: World): () => void {
  const kernel = new Kernel(new WebAssembly.Module(kernelBytes()), world.memories[0] as WebAssembly.Memory);
  kernel.joinReaders();
  const search = (): void =>
    void kernel.read(() => kernel.view(LARGE.id)?.index.search(new Float32Array(LARGE.dim).fill(1), 10));
  search();
  return search;
}

test('a checkpoint that is cancelled leaves the previous one', async () => {
  const world = new World(createPrng(8), [LARGE, SMALL]);
  fill(world, 600);
  assert.ok(await world.checkpoint());
  world.churn(LARGE, 10, 600);
  let asked = 0;
  assert.equal(await new Writing(world.shard, 0, world.files, () => asked++ > 0).run(false), undefined);
  world.restart();
  assert.deepEqual(world.notes, []);
  world.check('after the restart');
});
