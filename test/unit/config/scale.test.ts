// What follows from the number of cores, on small and on large machines.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Scale, scaleOf } from '../../../src/config/scale.js';
import { REQUESTS_WAITING_MAX } from '../../../src/pool/request-queue.js';

const CORES = [2, 8, 16, 64];

test('numbers that bind a large machine grow with its cores; small machines keep theirs', () => {
  const of = (pick: (scale: Scale) => number, hasModel = false): number[] =>
    CORES.map((cores) => pick(scaleOf(cores, { hasModel })));
  assert.deepEqual(
    of(({ shards }) => shards),
    [1, 2, 4, 16],
  );
  assert.deepEqual(
    of(({ frontThreads }) => frontThreads),
    [2, 7, 14, 56],
  );
  assert.deepEqual(
    of(({ inFlight }) => inFlight),
    [1024, 1024, 2048, 4096],
  );
  assert.deepEqual(
    of(({ searchThreads }) => searchThreads),
    [2, 8, 16, 48],
  );
  assert.deepEqual(
    of(({ batchThreads }) => batchThreads),
    [1, 2, 4, 16],
  );
  for (const pick of [
    ({ embedThreads }: Scale) => embedThreads.documents,
    ({ embedThreads }: Scale) => embedThreads.queries,
  ])
    assert.deepEqual(of(pick), [1, 2, 4, 16]);
  assert.deepEqual(
    of(({ embedThreads }) => embedThreads.documents, true),
    [2, 4, 4, 8],
  );
  assert.deepEqual(
    of(({ embedThreads }) => embedThreads.queries, true),
    [2, 2, 2, 4],
  );
  assert.deepEqual(
    of(({ queryModelThreads }) => queryModelThreads),
    [2, 4, 4, 4],
  );
  assert.deepEqual(
    of(({ shardsCopied }) => shardsCopied),
    [2, 2, 4, 16],
  );
  assert.deepEqual(
    of(({ batchesRestored }) => batchesRestored),
    [4, 4, 4, 16],
  );
  assert.deepEqual(
    of(({ archiveProcesses }) => archiveProcesses),
    [4, 4, 4, 8],
  );
});

test('one tenant may have as many requests wait for a pool as may be in progress', () => {
  for (const cores of [...CORES, 256])
    assert.ok(scaleOf(cores, { hasModel: false }).inFlight <= REQUESTS_WAITING_MAX / 2);
});

test('one core is enough for one of everything', () => {
  const { embedThreads, searchThreads, batchThreads, shards } = scaleOf(1, { hasModel: true });
  assert.deepEqual(
    [embedThreads.documents, embedThreads.queries, searchThreads, batchThreads, shards],
    [1, 1, 1, 1, 1],
  );
});
