// The checkpoints of older builds can be read: the memory is there at once, agrees with the store, and can be written
// to and saved again like any other.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { CollectionRef } from '../../../src/api/collections.js';
import { createPrng } from '../../../src/base/prng.js';
import { GRAPH_MIN } from '../../../src/engine/hnsw/vector-index.js';
import { CHECKPOINT_FORMAT, hasPoints } from '../../../src/engine/checkpoint/format.js';
import type { Segment } from '../../../src/engine/segments/segment.js';
import { CheckpointFiles } from '../../../src/storage/checkpoint-files.js';
import { World } from '../../kit/engine/checkpoint-world.js';
import { inspectGraph } from '../../kit/engine/graph.js';
import { FIXTURES, unpackFixture } from '../../kit/fixtures.js';

function checkGraphs(world: World, label: string): void {
  for (const segment of world.shard.segments.all()) {
    const { badEdges, unreachable } = inspectGraph(
      world.memories[segment.arena] as WebAssembly.Memory,
      segment.index.root,
    );
    assert.deepEqual([badEdges, unreachable], [0, 0], label);
  }
}

for (const name of FIXTURES) {
  test(`${name}: its checkpoint is read, and gone on with`, async () => {
    const data = join(await unpackFixture(name), 'data');
    const manifest = new CheckpointFiles(join(data, 'checkpoints', 'shard-0')).readManifest();
    assert.ok(manifest && manifest.kernel !== CHECKPOINT_FORMAT);
    const refs = manifest.parts as CollectionRef[];
    const world = new World(createPrng(1), refs, 4096, data);
    assert.deepEqual(world.notes, []);
    const segments = refs.map(({ id }) => world.shard.segments.of(id)[0]);
    assert.ok(segments.every((segment) => segment !== undefined));
    const [large] = segments.filter((segment) => segment.index.liveCount >= GRAPH_MIN) as [Segment];
    assert.equal(large.index.unindexedCount, 0);
    assert.ok(large.index.quantizedBytes > 0);
    assert.ok(segments.some(({ textIndex }) => textIndex?.complete));
    // The next search that filters builds the metadata index, which has the cells of points then.
    assert.equal(
      segments.some(({ fields }) => fields?.complete),
      hasPoints(manifest.kernel),
    );
    world.adoptStore();
    world.check('as it was');
    checkGraphs(world, 'as it was');
    world.work(Infinity);
    world.check('after a check of recall');
    for (const ref of refs) world.churn(ref, 300, 400);
    world.work(Infinity);
    assert.ok(await world.checkpoint());
    for (const ref of refs) world.churn(ref, 20, 400);
    world.restart();
    assert.deepEqual(world.notes, []);
    world.work(Infinity);
    world.check('in the end');
    checkGraphs(world, 'in the end');
  });
}
