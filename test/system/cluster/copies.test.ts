// Nodes that cannot have their data from the log take a copy of another node's: new ones where the log does not begin with
// nothing, and ones that were away while what they lack was deleted from it.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'node:test';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import type { Nats } from '../../../load/kit/nats.js';
import { type Node, ask, restartNode, skip, startNats, startNode } from '../../kit/nats.js';
import { spawnServe } from '../../kit/process.js';
import { tempDirectory } from '../../kit/temp.js';
import { until } from '../../kit/until.js';

const DOCS = '/v1/collections/acme/docs';
const DOCUMENTS = `${DOCS}/documents`;

const call = async (...question: Parameters<typeof ask>): Promise<any> => (await ask(...question)).json;

async function write(node: Node, from: number, count: number): Promise<void> {
  for (let i = from; i < from + count; i++) {
    const { ok, ...answer } = await call(node, 'POST', DOCUMENTS, {
      docid: `d${i}`,
      text: `The whale of document ${i}.`,
    });
    assert.equal(ok, true, JSON.stringify(answer));
  }
}

async function countOf(node: Node): Promise<number> {
  let count = 0;
  for (let cursor = ''; ; ) {
    const { documents, next_cursor: next } = await call(node, 'GET', `${DOCUMENTS}?limit=500${cursor}`);
    count += documents?.length ?? 0;
    if (!next) return count;
    cursor = `&cursor=${encodeURIComponent(next)}`;
  }
}

async function hitsOf(node: Node): Promise<unknown> {
  const search = { q: 'the whale of document 7', k: 500, mode: 'vector', exact: true };
  const { matches } = await call(node, 'POST', `${DOCS}/search`, search);
  return matches;
}

async function areEqual(nodes: readonly Node[], count: number): Promise<void> {
  const [first, ...others] = nodes as [Node, ...Node[]];
  for (const node of nodes) await until(async () => (await countOf(node)) === count, 'a node lacks documents');
  for (const other of others) assert.deepEqual(await hitsOf(other), await hitsOf(first));
}

const end = async (node: Node, signal: NodeJS.Signals): Promise<void> => {
  node.child.kill(signal);
  await node.ended;
};

/** Deletes the messages of the log before one, which is `seqOf` the last one. */
async function purge(servers: string[], seqOf: (last: number) => number): Promise<void> {
  const connection = await connect({ servers });
  const { streams } = await jetstreamManager(connection);
  await streams.purge('SHEAF_main', { seq: seqOf((await streams.info('SHEAF_main')).state.last_seq) });
  await connection.close();
}

const serversOf = ({ env }: Pick<Nats, 'env'>): string[] => JSON.parse(env.SHEAF_CLUSTER__NATS as string) as string[];

test('a new node copies the data of another one where the log has everything and is long, and reads it where none is there', {
  skip,
  timeout: 180_000,
}, async () => {
  const nats = await startNats();
  const first = await startNode(nats);
  await Promise.all(Array.from({ length: 4 }, (_, writer) => write(first, 1000 * writer, 700)));
  const info = { SHEAF_LOG__LEVEL: 'info' };
  const second = await startNode(nats, info);
  assert.match(second.output(), /the data has been copied/);
  await areEqual([first, second], 2800);
  await Promise.all([first, second].map((node) => end(node, 'SIGTERM')));
  const third = await startNode(nats, info);
  assert.doesNotMatch(third.output(), /the data has been copied/);
  await until(async () => (await countOf(third)) === 2800, 'it lacks documents');
});

test('the data of a single machine becomes that of a cluster, and new nodes copy it', {
  skip,
  timeout: 180_000,
}, async () => {
  const single = { SHEAF_DATA_DIR: tempDirectory(), SHEAF_STORAGE__PARTITIONS: '2' };
  const alone = await startNode({ env: {} }, single);
  await write(alone, 0, 40);
  await end(alone, 'SIGTERM');
  const nats = await startNats();
  const first = await startNode(nats, single);
  const second = await startNode(nats);
  await areEqual([first, second], 40);
  await write(second, 40, 20);
  await areEqual([first, second], 60);
  // What the copies were made in is not left behind.
  for (const [node, folder] of [
    [first, 'copies'],
    [second, 'copy'],
  ] as const)
    await until(() => !existsSync(join(node.env.SHEAF_DATA_DIR as string, folder, 'catalog')));
});

test('nodes that lack what the log has deleted copy the data beside writes', { skip, timeout: 180_000 }, async () => {
  const nats = await startNats();
  const [a, b, c] = [await startNode(nats), await startNode(nats), await startNode(nats)];
  await write(a, 0, 30);
  await areEqual([a, b, c], 30);
  await end(b, 'SIGKILL');
  await write(a, 30, 30);
  await purge(serversOf(nats), () => 55);
  let next = 60;
  let isOver = false as boolean;
  const writing = (async () => {
    for (; !isOver; next++) {
      await write(a, next, 1);
      await sleep(50);
    }
  })();
  const back = await restartNode(nats, b);
  const fresh = await startNode(nats);
  // A node that dies while it copies begins again.
  const folder = tempDirectory();
  const dying = spawnServe({ ...fresh.env, SHEAF_STORAGE__PARTITIONS: '2', SHEAF_DATA_DIR: folder });
  await until(() => existsSync(join(folder, 'copy')) || dying.output().includes('ready at'));
  dying.child.kill('SIGKILL');
  await dying.ended;
  const risen = await startNode(nats, { SHEAF_DATA_DIR: folder });
  isOver = true;
  await writing;
  await areEqual([a, back, c, fresh, risen], next);
});

test('when a node is killed while it gives a copy, the new node takes that of another one', {
  skip,
  timeout: 240_000,
}, async () => {
  const nats = await startNats();
  const givers = [await startNode(nats), await startNode(nats)] as const;
  const [first] = givers;
  // A copy of these takes a moment.
  const text = 'The whale goes down into the sea. '.repeat(2000);
  for (let i = 0; i < 300; i++)
    assert.equal((await ask(first, 'POST', DOCUMENTS, { docid: `large${i}`, text })).status, 201);
  await write(first, 0, 30);
  await areEqual(givers, 330);
  await purge(serversOf(nats), (last) => last - 5);
  const SHEAF_DATA_DIR = tempDirectory();
  const taker = spawnServe({
    ...first.env,
    SHEAF_STORAGE__PARTITIONS: '2',
    SHEAF_LOG__LEVEL: 'info',
    SHEAF_DATA_DIR,
    SHEAF_SERVER__PORT: '0',
  });
  const copied = /"node":"([\w-]+)","msg":"the data of another node is copied"/;
  await until(() => copied.test(taker.output()), 'no copy is begun');
  const [, id = ''] = copied.exec(taker.output()) ?? [];
  const idOf = ({ env }: Node): string => readFileSync(join(env.SHEAF_DATA_DIR as string, 'node-id'), 'utf8');
  const giver = givers.find((node) => idOf(node).includes(id)) as Node;
  await end(giver, 'SIGKILL');
  await until(
    () => taker.output().includes('the data has been copied'),
    () => taker.output(),
  );
  assert.match(taker.output(), /a node is asked for a copy again/);
  taker.child.kill('SIGTERM');
  await taker.ended;
  const taken = await startNode(nats, { SHEAF_DATA_DIR });
  await areEqual([...givers.filter((node) => node !== giver), taken, await restartNode(nats, giver)], 330);
});

test('a node that begins anew and waits for a copy ends when it is told to', { skip, timeout: 180_000 }, async () => {
  const nats = await startNats();
  const addresses = serversOf(nats);
  const a = await startNode(nats);
  const info = { SHEAF_LOG__LEVEL: 'info' };
  const b = await startNode(nats, { ...info, SHEAF_CLUSTER__NATS: JSON.stringify(addresses.slice(2)) });
  await write(a, 0, 5);
  await areEqual([a, b], 5);
  // It is without the log while what it lacks is written and deleted.
  const [, , server] = nats.servers;
  await server?.kill();
  await write(a, 5, 5);
  await purge(addresses.slice(0, 2), (last) => last);
  await server?.start();
  await until(
    () => b.output().includes('the node begins anew'),
    () => b.output(),
  );
  await end(a, 'SIGKILL');
  // It has closed what served before.
  await until(async () => (await fetch(`${b.url}/health/live`).catch(() => undefined)) === undefined);
  b.child.kill('SIGTERM');
  assert.equal(await b.ended, 0);
  assert.doesNotMatch(b.output(), /once more|no other node|has been copied/);
});

test('without another node there is no copy, and a sentence says so', { skip, timeout: 180_000 }, async () => {
  const nats = await startNats();
  const node = await startNode(nats);
  await write(node, 0, 5);
  await end(node, 'SIGTERM');
  await purge(serversOf(nats), () => 4);
  const late = spawnServe({ ...node.env, SHEAF_STORAGE__PARTITIONS: '2', SHEAF_DATA_DIR: tempDirectory() });
  assert.equal(await late.ended, 1);
  assert.match(late.output(), /no other node is there that gives a copy of its data: start one/);
});
