// A node that is killed while it restores an archive: what it has stored until then is removed by the node that leads, and
// the archive can be restored again.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Node, ask, skip, startNats, startNode } from '../../kit/nats.js';
import { until } from '../../kit/until.js';

const BASE = '/v1/collections/acme/docs';
const COPY = '/v1/collections/acme/copy';
const COUNT = 3000;

/** The documents in the shards of a node, those of shadow collections among them. */
async function storedIn(node: Node): Promise<number> {
  const text = await (await fetch(`${node.url}/metrics`)).text();
  const found = [...text.matchAll(/^sheaf_shard_documents\{.*\} (\d+)$/gm)];
  return found.reduce((sum, [, count]) => sum + Number(count), 0);
}

async function restore(node: Node, file: Blob): Promise<number> {
  const body = new FormData();
  body.append('file', file, 'archive.zip');
  return (await fetch(`${node.url}${COPY}/archive`, { method: 'POST', body })).status;
}

test('what a node was restoring when it was killed is given up by another one', {
  skip,
  timeout: 240_000,
}, async () => {
  const nats = await startNats();
  const nodes = [await startNode(nats), await startNode(nats)] as const;
  const [staying, killed] = nodes;
  for (const node of nodes)
    await until(async () => (await ask(node, 'GET', '/v1/admin/cluster')).json.nodes?.length === 2);
  for (let from = 0; from < COUNT; from += 500) {
    const documents = Array.from({ length: 500 }, (_, i) => ({
      docid: `d${from + i}`,
      text: `The whale of document ${from + i}.`,
    }));
    assert.equal((await ask(staying, 'POST', `${BASE}/documents:batch`, { documents })).status, 200);
  }
  const archive = await (await fetch(`${staying.url}${BASE}/archive`)).blob();
  const restoring = restore(killed, archive).catch(() => 'killed');
  await until(async () => (await storedIn(staying)) > COUNT, 'nothing is restored');
  killed.child.kill('SIGKILL');
  assert.equal(await restoring, 'killed');
  const left = await storedIn(staying);
  assert.ok(left > COUNT && left < 2 * COUNT, `${left} documents`);
  assert.equal((await ask(staying, 'GET', COPY)).status, 404);
  await until(async () => (await storedIn(staying)) === COUNT, 'it is not given up');
  assert.match(staying.output(), /what a node was restoring when it ended has been given up/);
  assert.equal(await restore(staying, archive), 200);
  assert.equal(await storedIn(staying), 2 * COUNT);
});
