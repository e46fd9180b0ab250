// Flipped bits in the files of a NATS server, by which JetStream loses messages that it has acknowledged: no acknowledged
// write is lost, a node never shows less than it has shown, and the cluster rebuilds itself.
import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'node:test';
import { type NatsConnection, connect } from '@nats-io/transport-node';
import { flipByte } from '../../kit/flip.js';
import { type Node, restartNode, skip, startNats, startNode } from '../../kit/nats.js';
import { spawnServe } from '../../kit/process.js';
import { tempDirectory } from '../../kit/temp.js';
import { until } from '../../kit/until.js';

const DOCUMENTS = '/v1/collections/acme/docs/documents';
type Nats = Awaited<ReturnType<typeof startNats>>;
type Server = Nats['servers'][number];

/** A node that begins anew does not answer for a moment. */
async function patiently(work: () => Promise<Response>): Promise<Response> {
  for (let tries = 0; tries < 100; tries++) {
    try {
      return await work();
    } catch {
      await sleep(100);
    }
  }
  return work();
}

/** Writes documents, several at a time, and returns the ids of those that were acknowledged. */
async function write({ url }: Pick<Node, 'url'>, from: number, count: number): Promise<string[]> {
  const acknowledged: string[] = [];
  let next = from;
  const work = async (): Promise<void> => {
    while (next < from + count) {
      const docid = `d${next++}`;
      const body = JSON.stringify({ docid, text: `The whale of document ${docid}. ${'x'.repeat(400)}` });
      const response = await patiently(() =>
        fetch(`${url}${DOCUMENTS}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body }),
      );
      if (response.status === 201) acknowledged.push(docid);
    }
  };
  await Promise.all(Array.from({ length: 16 }, work));
  return acknowledged;
}

async function readOf(url: string, docid: string): Promise<Response> {
  const response = await fetch(`${url}${DOCUMENTS}/${docid}`);
  if (response.status === 503) throw new Error('the node begins anew');
  return response;
}

async function missingOn({ url }: Pick<Node, 'url'>, docids: readonly string[]): Promise<string[]> {
  const missing: string[] = [];
  for (const docid of docids) if ((await patiently(() => readOf(url, docid))).status !== 200) missing.push(docid);
  return missing;
}

/** The blocks of messages below a folder of a server, oldest first. */
const blocksOf = ({ store }: Server, below: RegExp): string[] =>
  readdirSync(store, { recursive: true, encoding: 'utf8' })
    .filter((path) => below.test(path) && path.endsWith('.blk'))
    .sort((a, b) => parseInt(basename(a), 10) - parseInt(basename(b), 10))
    .map((path) => join(store, path));

const connected = (nats: Nats): Promise<NatsConnection> =>
  connect({ servers: JSON.parse(nats.env.SHEAF_CLUSTER__NATS as string) as string[] });

async function fenceOf({ url }: Pick<Node, 'url'>): Promise<string | null> {
  const response = await patiently(() => fetch(`${url}/v1/admin/cluster`));
  const { node, nodes } = (await response.json()) as { node: string; nodes: { node: string; fenced: string | null }[] };
  return nodes.find((each) => each.node === node)?.fenced ?? null;
}

const stop = async (node: Node): Promise<void> => {
  node.child.kill('SIGTERM');
  await node.ended;
};

test('a bit in an old block of one server that then leads: nothing is lost, and no node comes up with less', {
  skip,
  timeout: 300_000,
}, async () => {
  const nats = await startNats();
  const nodes = [await startNode(nats), await startNode(nats)] as const;
  const acknowledged = await write(nodes[0], 0, 800);
  assert.equal(acknowledged.length, 800);
  const leader = await nats.leader();
  const victim = nats.servers.find((server) => server !== leader) as Server;
  await victim.kill();
  const [oldest] = blocksOf(victim, /streams\/SHEAF_main\/msgs/) as [string];
  flipByte(oldest, Math.floor(statSync(oldest).size / 3));
  await victim.start();
  const connection = await connected(nats);
  await until(async () => {
    const wish = JSON.stringify({ placement: { preferred: victim.name } });
    await connection
      .request('$JS.API.STREAM.LEADER.STEPDOWN.SHEAF_main', wish, { timeout: 5000 })
      .catch(() => undefined);
    await sleep(1000);
    return (await nats.leader()).name === victim.name;
  }, 'the server does not come to lead');
  await connection.close();
  acknowledged.push(...(await write(nodes[1], 800, 100)));
  for (const node of nodes) assert.deepEqual(await missingOn(node, acknowledged), []);
  // A node without data reads the stream from its begin: it has all of it, or says that it has not.
  const late = spawnServe({
    SHEAF_DATA_DIR: tempDirectory(),
    SHEAF_STORAGE__PARTITIONS: '2',
    SHEAF_SERVER__THREADS: '0',
    ...nats.env,
  });
  const isReady = (): string | undefined => /ready at (https?:\S+)/.exec(late.output())?.[1];
  await until(
    () => isReady() !== undefined || late.output().includes('takes no writes any more'),
    'the node says nothing',
  );
  const url = isReady();
  if (url !== undefined) assert.deepEqual(await missingOn({ url }, acknowledged), []);
});

test('bits in the log of one server while another one lags: the nodes keep what they have acknowledged, and rebuild the stream', {
  skip,
  timeout: 300_000,
}, async () => {
  const nats = await startNats();
  const nodes = [await startNode(nats), await startNode(nats)] as [Node, Node];
  const acknowledged = await write(nodes[0], 0, 300);
  const leader = await nats.leader();
  const [lagging, bad] = nats.servers.filter((server) => server !== leader) as [Server, Server];
  await lagging.kill();
  acknowledged.push(...(await write(nodes[1], 300, 300)));
  assert.ok(acknowledged.length > 590, String(acknowledged.length));
  await Promise.all([leader.kill(), bad.kill()]);
  for (const block of [
    blocksOf(bad, /streams\/SHEAF_main\/msgs/).at(-1),
    ...blocksOf(bad, /_js_\/S-R3F/).slice(-1),
  ] as string[])
    flipByte(block, Math.floor(statSync(block).size * 0.75));
  await Promise.all([lagging.start(), bad.start()]);
  const isFenced = await Promise.race([
    until(async () => (await fenceOf(nodes[0])) !== null && (await fenceOf(nodes[1])) !== null).then(() => true),
    sleep(60_000).then(() => false),
  ]);
  // What it has of the former stream may never be in line with the others again.
  await leader.start('/healthz?js-server-only=true');
  for (const node of nodes) assert.deepEqual(await missingOn(node, acknowledged), []);
  if (!isFenced) {
    // The stream was whole this time; then writes go on.
    assert.equal((await write(nodes[0], 600, 10)).length, 10);
    return;
  }
  // The nodes rebuild the stream from what they have, without an operator.
  for (const [i, node] of nodes.entries()) {
    const from = 600 + 100 * i;
    await until(async () => (await write(node, from, 1)).length === 1, 'the cluster does not take writes again');
    acknowledged.push(...(await write(node, from + 1, 20)));
  }
  for (const node of nodes) {
    await until(async () => (await missingOn(node, ['d620', 'd720'])).length === 0);
    assert.deepEqual(await missingOn(node, acknowledged), []);
    assert.equal(await fenceOf(node), null);
  }
  const late = await startNode(nats);
  assert.deepEqual(await missingOn(late, acknowledged), []);
  // What the rebuild has left is enough for a node that is started again.
  await stop(nodes[1]);
  const again = await restartNode(nats, nodes[1]);
  assert.deepEqual(await missingOn(again, acknowledged), []);
});
