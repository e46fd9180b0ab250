// A node that is killed while it restores an archive: what it has stored until then is removed by the node that leads, and
// the archive can be restored again.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { CatalogStore } from '../../../src/storage/catalog.js';
import { type Node, ask, skip, startNats, startNode } from '../../kit/nats.js';
import { until } from '../../kit/until.js';

const BASE = '/v1/collections/acme/docs';
const COPY = '/v1/collections/acme/copy';
const COUNT = 4000;

/** The last message of the command log that a node has received, which its tokens tell. */
const receivedBy = async (node: Node): Promise<number> =>
  Number((await ask(node, 'GET', `${BASE}/detail`)).token.split(':')[1]);

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
      text: `The whale of document ${from + i}. `.repeat(40),
    }));
    assert.equal((await ask(staying, 'POST', `${BASE}/documents:batch`, { documents })).status, 201);
  }
  const archive = await (await fetch(`${staying.url}${BASE}/archive`)).blob();
  const before = await receivedBy(staying);
  const restoring = restore(killed, archive).catch(() => 'killed');
  // The shadow collection is made, and some documents are in it.
  await until(async () => (await receivedBy(staying)) > before + 3, 'nothing is restored');
  killed.child.kill('SIGKILL');
  assert.equal(await restoring, 'killed');
  assert.equal((await ask(staying, 'GET', `${COPY}/detail`)).status, 404);
  const givenUp = /what a node was restoring when it ended has been given up/;
  await until(() => givenUp.test(staying.output()), 'it is not given up');
  assert.equal(await restore(staying, archive), 200);
  assert.equal((await ask(staying, 'GET', `${COPY}/detail`)).json.doc_count, COUNT);
  staying.child.kill('SIGTERM');
  await staying.ended;
  const catalog = CatalogStore.open(join(staying.env['SHEAF_DATA_DIR'] as string, 'catalog'), false);
  assert.deepEqual([catalog.all().map(({ name }) => name), catalog.shadow.all()], [['copy', 'docs'], []]);
  catalog.close();
});
