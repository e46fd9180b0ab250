// Nodes of a cluster that share the memory, as processes with three real NATS servers: every node answers for every
// collection as a node that holds it does, whichever nodes start, stop, are killed or stand still.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { type Node, ask, restartNode, skip, startNats, startNode } from '../../kit/nats.js';
import { until } from '../../kit/until.js';

/** So many that a node which joins takes over some of them: which ones, the ids of the nodes decide. */
const COLLECTIONS = Array.from({ length: 24 }, (_, i) => `c${i}`);
const SHARED = { SHEAF_CLUSTER__LEAVE_S: '5' };
const pathOf = (collection: string, rest: string): string => `/v1/collections/acme/${collection}/${rest}`;

/** Writes documents to every collection, from every node, with vectors of their own for `vectors` collections. */
async function fill(nodes: readonly Node[], documents: number): Promise<void> {
  for (const [c, collection] of COLLECTIONS.entries())
    for (let i = 0; i < documents; i++) {
      const { status, json } = await ask(
        nodes[(c + i) % nodes.length] as Node,
        'POST',
        pathOf(collection, 'documents'),
        {
          docid: `d${i}`,
          text: `The whale of document ${i} in ${collection}.`,
          metadata: { half: i % 2, rank: i },
        },
      );
      assert.equal(status, 201, JSON.stringify(json));
    }
}

const SEARCHES: readonly object[] = [
  { q: 'the whale of document 7', k: 9, exact: true },
  { q: 'document 3', k: 5, mode: 'hybrid', explain: true },
  { q: 'whale', k: 4, mode: 'boost', filters: { half: 1 } },
  { k: 3, sort: { field: 'rank', order: 'desc' } },
  { q: 'the whale', k: 2, group_by: 'half', group_size: 2 },
];

/** What a node answers for all collections, without times. */
async function answersOf(node: Node): Promise<string> {
  const found: object[] = [];
  for (const collection of COLLECTIONS) {
    for (const search of SEARCHES) {
      const { status, json } = await ask(node, 'POST', pathOf(collection, 'search'), search);
      assert.equal(status, 200, `${collection} ${JSON.stringify(search)}: ${JSON.stringify(json)}`);
      found.push(json.matches);
    }
    const { json } = await ask(node, 'POST', pathOf(collection, 'count'), { filters: { half: 0 }, facets: ['half'] });
    found.push([json.count, json.facets]);
  }
  return JSON.stringify(found);
}

async function areAlike(nodes: readonly Node[]): Promise<string> {
  const [first, ...others] = await Promise.all(nodes.map(answersOf));
  for (const other of others) assert.equal(other, first);
  return first as string;
}

async function metric(node: Node, name: string): Promise<number> {
  const text = await (await fetch(`${node.url}/metrics`)).text();
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]);
}

const sum = async (nodes: readonly Node[], name: string): Promise<number> =>
  (await Promise.all(nodes.map((node) => metric(node, name)))).reduce((all, one) => all + one, 0);

const settled = (nodes: readonly Node[]): Promise<void> =>
  until(
    async () =>
      (await sum(nodes, 'sheaf_cluster_loading_collections')) +
        (await sum(nodes, 'sheaf_cluster_leaving_collections')) ===
      0,
    'collections are still moving',
  );

for (const [copies, threads] of [
  ['1', '0'],
  ['2', '2'],
] as const)
  test(`nodes that hold each collection ${copies} times answer alike for all, ${threads} front threads`, {
    skip,
  }, async () => {
    const nats = await startNats();
    const env = { ...SHARED, SHEAF_CLUSTER__SEARCH_COPIES: copies, SHEAF_SERVER__THREADS: threads };
    const nodes = [await startNode(nats, env), await startNode(nats, env), await startNode(nats, env)];
    await fill(nodes, 10);
    const before = await areAlike(nodes);
    const sent = await sum(nodes, 'sheaf_cluster_searches_sent_total');
    assert.ok(sent >= COLLECTIONS.length * SEARCHES.length, `${sent} searches were sent to other nodes`);
    // Some of them were written by a node that does not hold them.
    const held = await Promise.all(nodes.map((node) => heldBy(node)));
    for (const collection of COLLECTIONS)
      assert.equal(held.filter((names) => names.has(collection)).length, Number(copies), collection);

    // A node that comes takes over collections, and answers for all at once.
    const late = await startNode(nats, env);
    assert.equal(await answersOf(late), before);
    await settled([...nodes, late]);
    assert.equal(await areAlike([...nodes, late]), before);
    await until(async () => {
      await answersOf(late);
      return (await heldBy(late)).size > 0;
    }, 'the node that has come takes over nothing');

    // A node that goes is replaced.
    late.child.kill('SIGKILL');
    await late.ended;
    assert.equal(await areAlike(nodes), before);
    await until(async () => {
      const now = await Promise.all(nodes.map((node) => heldBy(node)));
      return COLLECTIONS.every((collection) => now.some((names) => names.has(collection)));
    }, 'nobody holds some collections');

    // It knows its place again.
    const again = await restartNode(nats, late);
    assert.equal(await answersOf(again), before);
    await ask(again, 'DELETE', pathOf('c0', 'documents/d7'));
    await ask(again, 'PATCH', pathOf('c1', 'documents/d3'), { metadata: { half: 0 } });
    await until(async () =>
      (await Promise.all([...nodes, again].map(answersOf))).every((one, _, all) => one === all[0]),
    );
    assert.notEqual(await areAlike([...nodes, again]), before);
  });

/** The collections that a node has in its memory. */
async function heldBy(node: Node): Promise<Set<string>> {
  const held = new Set<string>();
  for (const collection of COLLECTIONS) {
    const { json } = await ask(node, 'GET', pathOf(collection, 'detail'));
    if (json.memory.vectors > 0) held.add(collection);
  }
  return held;
}

test('a search with the token of a write sees it, whichever node runs it, while documents change', {
  skip,
}, async () => {
  const nats = await startNats();
  const env = { ...SHARED, SHEAF_CLUSTER__SEARCH_COPIES: '1' };
  const nodes = [await startNode(nats, env), await startNode(nats, env)] as const;
  const prng = createPrng(7);
  for (let i = 0; i < 120; i++) {
    const collection = COLLECTIONS[prng.int(4)] as string;
    const [writer, reader] = [nodes[prng.int(2)] as Node, nodes[prng.int(2)] as Node];
    const { status, token } = await ask(writer, 'POST', pathOf(collection, 'documents'), {
      docid: `d${i}`,
      text: `The whale of document ${i}.`,
    });
    assert.equal(status, 201);
    const search = { q: 'whale', k: 200, mode: 'vector', filters: { docid: `d${i}` } };
    const answer = await ask(reader, 'POST', pathOf(collection, 'search'), search, { 'x-consistency': token });
    assert.deepEqual([answer.status, answer.json.matches?.length], [200, 1], JSON.stringify(answer.json));
  }
});

test('searches go on while a node that holds the collections stands still', { skip }, async () => {
  const nats = await startNats();
  const env = { ...SHARED, SHEAF_CLUSTER__SEARCH_COPIES: '2' };
  const nodes = [await startNode(nats, env), await startNode(nats, env), await startNode(nats, env)];
  await fill(nodes, 5);
  const before = await areAlike(nodes);
  const [still, ...others] = nodes as [Node, ...Node[]];
  await settled(nodes);
  still.child.kill('SIGSTOP');
  try {
    for (const node of others) assert.equal(await answersOf(node), before);
  } finally {
    still.child.kill('SIGCONT');
  }
  assert.equal(await areAlike(nodes), before);
});
