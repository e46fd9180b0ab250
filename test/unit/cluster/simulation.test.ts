// The simulated cluster (load/stress/simulation.ts): seeds without violations, and checks that find what is wrong with a
// protocol.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type SimulationOptions, simulate } from '../../../load/stress/simulation.js';

for (const [from, to] of [
  [1, 30],
  [31, 60],
] as const)
  test(`nothing is lost, doubled or different between nodes, seeds ${from} to ${to}`, async () => {
    for (let seed = from; seed <= to; seed++) {
      const { violations, needOperator, writes, strongReads } = await simulate({ seed, losses: false });
      assert.deepEqual({ seed, violations, needOperator }, { seed, violations: [], needOperator: [] });
      assert.ok(writes > 100 && strongReads > 0, `seed ${seed} made ${writes} writes and ${strongReads} strong reads`);
    }
  });

test('what the log has lost is in it again, or an operator is told, seeds 1 to 20', async () => {
  let rebuilds = 0;
  for (let seed = 1; seed <= 20; seed++) {
    const report = await simulate({ seed, losses: true });
    assert.deepEqual({ seed, violations: report.violations }, { seed, violations: [] });
    rebuilds += report.rebuilds;
  }
  assert.ok(rebuilds > 0, 'no stream was rebuilt');
});

// The log is lost altogether in the moment after a node has appended again what the log had lost before.
test('a node keeps what it appends again until another one has applied it, seed 1417', async () => {
  const { violations } = await simulate({ seed: 1417, losses: true });
  assert.deepEqual(violations, []);
});

// The log loses its end, nodes write on without that, and delete what all nodes have by their numbers, which for two nodes
// are of the messages that were lost.
test('a node sees what it alone has before the log deletes what stands in its place, seed 1201', async () => {
  const { violations, needOperator } = await simulate({ seed: 1201, losses: true });
  assert.deepEqual([violations, needOperator], [[], []]);
});

test('a seed gives the same run', async () => {
  const lines = async (): Promise<string[]> => {
    const told: string[] = [];
    await simulate({ seed: 7, losses: true, trace: (line) => told.push(line) });
    // Ids of streams are random.
    return told.map((line) => line.replace(/[0-9a-f-]{36}/g, 'id'));
  };
  const first = await lines();
  assert.ok(first.length > 50);
  assert.deepEqual(await lines(), first);
});

for (const planted of ['leaves out a write', 'forgets ids', 'applies twice'] satisfies SimulationOptions['planted'][])
  test(`the checks find a protocol that ${planted}`, async () => {
    const found: string[] = [];
    for (let seed = 1; seed <= 60 && found.length === 0; seed++)
      found.push(...(await simulate({ seed, losses: false, planted })).violations);
    assert.ok(found.length > 0, 'nothing was found');
  });
