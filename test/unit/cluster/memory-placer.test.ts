// The nodes that share the memory are kept for the next start of a node, also if its disk is full when they change.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { NodeState } from '../../../src/cluster/node-states.js';
import { MemoryPlacer } from '../../../src/service/cluster/memory-placer.js';
import { SILENT } from '../../kit/log.js';
import { until } from '../../kit/until.js';

// The timers of a node do not keep a process alive; a server does.
const alive = setInterval(() => undefined, 1000);
after(() => clearInterval(alive));

const stateOf = (node: string): NodeState => ({
  node,
  received: 0,
  applied: 0,
  committed: 0,
  fenced: null,
  isAtRest: false,
  memory: { loading: [], kept: [] },
  heardAtMs: Date.now(),
});

test('a full disk does not end the node, and the others are kept when there is room', async () => {
  const tried: string[][] = [];
  const warned: string[] = [];
  const placer = new MemoryPlacer({
    placement: { members: ['a'], own: 'a', copies: 1 },
    leaveMs: 60_000,
    nodes: { all: () => ['a', 'b'].map(stateOf) },
    shards: { size: 0, request: () => Promise.reject(new Error('no shard is open')) },
    keepMembers: (members) => {
      tried.push([...members]);
      if (tried.length < 3) throw new Error('ENOSPC: no space left on device, write');
    },
    building: () => [],
    log: { ...SILENT, warn: (_, message) => void warned.push(message) },
  });
  await until(() => tried.length === 3, 'it is not tried again');
  assert.deepEqual(placer.held().placement.members, ['a', 'b']);
  await new Promise((resolve) => setTimeout(resolve, 1200));
  placer.close();
  assert.deepEqual(
    tried,
    Array.from({ length: 3 }, () => ['a', 'b']),
  );
  assert.deepEqual(warned, ['the nodes that share the memory cannot be kept for the next start']);
});
