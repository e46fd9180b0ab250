// A command log that has gone back in time, as after a restore of its disks from an older copy: the nodes rebuild it from
// what they have, but not while a node is away that may have acknowledged more.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'node:test';
import { backInTime } from '../../../load/kit/nats.js';
import { type Node, ask as askNode, restartNode, skip, startNats, startNode } from '../../kit/nats.js';
import { until } from '../../kit/until.js';

const DOCUMENTS = '/v1/collections/acme/docs/documents';

/** What a node answers; status 0 while it does not. */
const ask = (...question: Parameters<typeof askNode>): ReturnType<typeof askNode> =>
  askNode(...question).catch(() => ({ status: 0, json: {}, token: '' }));

async function put(node: Node, docid: string): Promise<number> {
  return (await ask(node, 'POST', DOCUMENTS, { docid, text: `The whale ${docid}.` })).status;
}

/** Writes documents until all are acknowledged. */
async function write(nodes: readonly Node[], from: number, count: number): Promise<void> {
  for (let i = from; i < from + count; i++)
    await until(async () => [200, 201].includes(await put(nodes[i % nodes.length] as Node, `d${i}`)));
}

async function hasAll(node: Node, count: number): Promise<void> {
  await until(async () => {
    const { json } = await ask(node, 'GET', `${DOCUMENTS}?limit=500`);
    return json.documents?.length === count;
  }, 'a node lacks documents');
}

const end = async (node: Node): Promise<void> => {
  node.child.kill('SIGKILL');
  await node.ended;
};

test('a log that has lost its end is rebuilt without an operator', {
  skip,
  timeout: 300_000,
}, async () => {
  const nats = await startNats();
  const settings = { SHEAF_SERVER__THREADS: '2' };
  const nodes = [await startNode(nats, settings), await startNode(nats, settings)] as const;
  await write(nodes, 0, 40);
  let token = '';
  await backInTime(nats, async () => {
    await write(nodes, 40, 40);
    token = (await ask(nodes[0], 'GET', `${DOCUMENTS}/d79`)).token;
  });
  await write(nodes, 80, 20);
  for (const node of nodes) await hasAll(node, 100);
  // A client may still have a token of the stream before.
  await until(
    async () => (await ask(nodes[1], 'GET', `${DOCUMENTS}/d79`, undefined, { 'x-consistency': token })).status === 200,
  );
  const late = await startNode(nats, settings);
  await hasAll(late, 100);
  // It may happen again.
  await backInTime(nats, () => write([...nodes, late], 100, 20));
  await write([...nodes, late], 120, 20);
  for (const node of [...nodes, late]) await hasAll(node, 140);
});

test('nothing is rebuilt while a node is away; when it is back, what only it had is there', {
  skip,
  timeout: 300_000,
}, async () => {
  const nats = await startNats();
  const [a, b, c] = [await startNode(nats), await startNode(nats), await startNode(nats)];
  await write([a, b, c], 0, 30);
  await until(async () => (await ask(a, 'GET', '/v1/admin/cluster')).json.nodes?.length === 3);
  await backInTime(nats, async () => {
    await write([a, b, c], 30, 30);
    await end(c);
  });
  await until(async () => (await put(a, 'x')) === 503 && (await put(b, 'x')) === 503);
  await sleep(15_000);
  assert.deepEqual([await put(a, 'x'), await put(b, 'x')], [503, 503]);
  assert.equal((await ask(a, 'GET', `${DOCUMENTS}/d59`)).status, 200);
  const back = await restartNode(nats, c).catch(() => undefined);
  assert.ok(back, 'the node that was away does not start');
  await write([a, b, back], 60, 10);
  for (const node of [a, b, back]) await hasAll(node, 70);
});
