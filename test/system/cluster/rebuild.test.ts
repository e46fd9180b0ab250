// A command log that has gone back in time, as after a restore of its disks from an older copy, or that is gone: the nodes
// rebuild it from what they have, but not while a node is away that may have acknowledged more. A node whose data has come
// to be other than that of most nodes takes a copy of theirs.
import assert from 'node:assert/strict';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'node:test';
import { type Nats, backInTime } from '../../../load/kit/nats.js';
import { shardNames } from '../../../src/storage/data-directory.js';
import { Journal } from '../../../src/storage/journal.js';
import { Environment } from '../../../src/storage/lmdb.js';
import { SHARD_TABLES } from '../../../src/storage/shard-reader.js';
import { ALL } from '../../../src/storage/table.js';
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

/** Nodes with 30 documents. */
async function threeNodes(): Promise<{ nats: Nats; a: Node; b: Node; c: Node }> {
  const nats = await startNats();
  const [a, b, c] = [await startNode(nats), await startNode(nats), await startNode(nats)];
  await write([a, b, c], 0, 30);
  return { nats, a, b, c };
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
  const { nats, a, b, c } = await threeNodes();
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

test('what only a node has that is started again is appended again, and the others go on meanwhile', {
  skip,
  timeout: 300_000,
}, async () => {
  const { nats, a, b, c } = await threeNodes();
  for (const node of [a, b, c]) await hasAll(node, 30);
  await backInTime(nats, async () => {
    for (const { child } of [b, c]) child.kill('SIGSTOP');
    await write([a], 30, 10);
    await end(a);
  });
  for (const { child } of [b, c]) child.kill('SIGCONT');
  await write([b, c], 40, 10);
  assert.equal((await ask(b, 'GET', `${DOCUMENTS}/d39`)).status, 404);
  const back = await restartNode(nats, a);
  for (const node of [back, b, c]) await hasAll(node, 50);
  await write([back], 50, 5);
  for (const node of [back, b, c]) await hasAll(node, 55);
});

/** The servers lose their disks. */
async function loseAll({ servers }: Nats, meanwhile: () => Promise<unknown>): Promise<void> {
  await Promise.all(servers.map((server) => server.kill()));
  for (const { store } of servers) {
    rmSync(store, { recursive: true });
    mkdirSync(store);
  }
  await meanwhile();
  await Promise.all(servers.map((server) => server.start()));
}

test('NATS servers that come back without their disks get a stream with what the nodes have', {
  skip,
  timeout: 300_000,
}, async () => {
  const nats = await startNats();
  const [a, b] = [await startNode(nats), await startNode(nats)];
  await write([a, b], 0, 40);
  await loseAll(nats, async () => {
    for (const node of [a, b]) assert.equal((await ask(node, 'GET', `${DOCUMENTS}/d39`)).status, 200);
  });
  await write([a, b], 40, 20);
  // The stream is now one of a rebuild, which a node that is started anew does not find.
  await loseAll(nats, () => end(b));
  const back = await restartNode(nats, b);
  await write([a, back], 60, 20);
  for (const node of [a, back]) await hasAll(node, 80);
  const late = await startNode(nats);
  await hasAll(late, 80);
});

/** Takes a document from the data of a node that is stopped, and changes the hash of what it has applied. */
function spoil({ env: settings }: Node): void {
  const shards = shardNames(2).map((name) => join(settings.SHEAF_DATA_DIR as string, name));
  for (const folder of shards) {
    const env = Environment.open(folder, SHARD_TABLES, false);
    const journal = Journal.open(env, { bytesMax: 1e9, isOfNode: true }) as Journal;
    env.write((tables) => {
      for (const { key } of tables.documents.entries(ALL)) tables.documents.delete(key);
      journal.append(tables.journal, [Buffer.from([0xc0])]);
    });
    env.close();
  }
}

test('a node with other data than the two others takes a copy of theirs, and they go on', {
  skip,
  timeout: 300_000,
}, async () => {
  const nats = await startNats();
  const settings = { SHEAF_STORAGE__PARTITIONS: '2' };
  const [a, b, c] = [await startNode(nats, settings), await startNode(nats, settings), await startNode(nats, settings)];
  await write([a, b, c], 0, 30);
  await end(c);
  spoil(c);
  const back = await restartNode(nats, c);
  assert.equal((await ask(back, 'GET', `${DOCUMENTS}/d3`)).status, 404);
  const statuses = new Set<number>();
  let count = 30;
  const seen = (): boolean => /another node has other results/.test(back.output());
  for (; !seen(); count++, await sleep(20)) statuses.add(await put([a, b][count % 2] as Node, `d${count}`));
  for (const untilCount = count + 30; count < untilCount; count++)
    statuses.add(await put([a, b][count % 2] as Node, `d${count}`));
  assert.deepEqual([...statuses], [201]);
  for (const node of [a, b, back]) await hasAll(node, count);
  assert.equal((await ask(back, 'GET', `${DOCUMENTS}/d3`)).status, 200);
});
