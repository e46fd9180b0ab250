// A command log that fills up: because a node is away, and to the last byte, when nodes start.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'node:test';
import { JetStreamApiError, jetstream } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { type Node, ask, restartNode, skip, startNats, startNode } from '../../kit/nats.js';
import { until } from '../../kit/until.js';

const LOG_MB = 64;
const DOCUMENTS = '/v1/collections/acme/docs/documents';

/** Some 70 kB with its vectors, in which one word is its own. */
const textOf = (docid: string): string =>
  `The captain of ${docid} writes. ${'The whale goes down into the sea. '.repeat(900)}`;

/** Writes it until it is acknowledged, and resolves to how often the log was full. */
async function write(node: Node, docid: string): Promise<number> {
  for (let refused = 0; ; refused++) {
    const { status, json } = await ask(node, 'POST', DOCUMENTS, { docid, text: textOf(docid) });
    if (json.ok === true) return refused;
    assert.deepEqual([status, json.code], [503, 'log_unavailable'], JSON.stringify(json));
    await sleep(500);
  }
}

async function writeAll(node: Node, from: number, count: number): Promise<number> {
  const numbers = Array.from({ length: count }, (_, i) => from + i);
  let refused = 0;
  const writing = Array.from({ length: 8 }, async () => {
    for (let i = numbers.pop(); i !== undefined; i = numbers.pop()) refused += await write(node, `d${i}`);
  });
  await Promise.all(writing);
  return refused;
}

async function docidsOf(node: Node): Promise<string[]> {
  const docids: string[] = [];
  for (let cursor = ''; ; ) {
    const { json } = await ask(node, 'GET', `${DOCUMENTS}?limit=500${cursor}`);
    docids.push(...(json.documents as { docid: string }[]).map(({ docid }) => docid));
    if (!json.next_cursor) return docids.sort();
    cursor = `&cursor=${encodeURIComponent(json.next_cursor)}`;
  }
}

const haveAll = async (nodes: readonly Node[], count: number): Promise<void> => {
  for (const node of nodes) await until(async () => (await docidsOf(node)).length === count, 'a node lacks documents');
};

const kill = async (node: Node): Promise<void> => {
  node.child.kill('SIGKILL');
  await node.ended;
};

test('writes go on when a node is away for longer than the log keeps what it lacks, and it copies that when it is back', {
  skip,
  timeout: 300_000,
}, async () => {
  const nats = await startNats({ logMb: LOG_MB });
  const [a, b, c] = [await startNode(nats), await startNode(nats), await startNode(nats)];
  await writeAll(a, 0, 20);
  await haveAll([a, b, c], 20);
  await kill(c);
  await writeAll(a, 20, 1200);
  const { json } = await ask(a, 'GET', '/v1/admin/cluster');
  assert.ok(json.log.first > 20, `the log begins with ${json.log.first}`);
  const back = await restartNode(nats, c);
  await haveAll([a, b, back], 1220);
});

test('nodes that start on a log without any room serve reads, and then take writes', {
  skip,
  timeout: 300_000,
}, async () => {
  const nats = await startNats({ logMb: LOG_MB });
  const nodes = [await startNode(nats), await startNode(nats)];
  const [a] = nodes as [Node];
  await writeAll(a, 0, 20);
  await haveAll(nodes, 20);
  for (const node of nodes) await kill(node);
  const connection = await connect({ servers: JSON.parse(nats.env.SHEAF_CLUSTER__NATS as string) as string[] });
  const isFull = (error: unknown): boolean => error instanceof JetStreamApiError;
  for (const bytes of [1024 * 1024, 1000, 0])
    await assert.rejects(async () => {
      for (;;) await jetstream(connection).publish('sheaf.main.log.barrier', Buffer.alloc(bytes));
    }, isFull);
  await connection.close();
  const again = await Promise.all(nodes.map((node) => restartNode(nats, node)));
  await haveAll(again, 20);
  await writeAll(again[0] as Node, 20, 1);
  await haveAll(again, 21);
});
