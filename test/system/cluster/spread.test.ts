// A collection whose shards are spread over the memory of several nodes: whichever node is asked, the answer is that of one
// machine with the same documents, for every kind of search, while nodes come and go.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { freePort } from '../../../load/kit/server.js';
import { type Node, ask, skip, startNats, startNode } from '../../kit/nats.js';
import { startServe } from '../../kit/process.js';
import { tempDirectory } from '../../kit/temp.js';
import { until } from '../../kit/until.js';

const SHARDS = { SHEAF_STORAGE__PARTITIONS: '4', SHEAF_COLLECTIONS__PARTITIONS: '4' };
const SPREAD = {
  ...SHARDS,
  SHEAF_CLUSTER__LEAVE_S: '5',
  SHEAF_CLUSTER__SEARCH_COPIES: '1',
  SHEAF_CLUSTER__PLACEMENT: 'shards',
};
const BASE = '/v1/collections/acme/large';
const WORDS = ['whale', 'whaler', 'harpoon', 'captain', 'island', 'storm', 'sailor', 'ocean', 'voyage', 'lantern'];
const DOCUMENTS = 240;

/** Documents with words of unlike frequency, of which some occur in one document alone. */
function documents(): object[] {
  const prng = createPrng(5);
  const word = (): string => WORDS[Math.min(prng.int(WORDS.length), prng.int(WORDS.length))] as string;
  return Array.from({ length: DOCUMENTS }, (_, i) => ({
    docid: `d${i}`,
    text: `${Array.from({ length: 4 + prng.int(12) }, word).join(' ')}${i % 50 === 0 ? ` rarity${i}` : ''}`,
    metadata: { tag: `t${i % 7}`, rank: i % 13, half: i % 2, priority: i % 40 === 0 ? 0.05 : 0 },
  }));
}

const SEARCHES: readonly object[] = [
  { q: 'captain of the whale', k: 10, mode: 'vector', exact: true },
  { q: 'captain of the whale', k: 25, mode: 'vector', exact: true, filters: { half: 1 }, explain: true },
  { q: 'storm lantern', k: 8, mode: 'boost', exact: true, explain: true },
  { q: 'harpoon island', k: 12, mode: 'hybrid', exact: true, explain: true, relevance: true },
  { q: 'harpoon island', k: 12, mode: 'hybrid', exact: true, fusion: { method: 'score' }, explain: true },
  { q: 'rarity150 voyage', k: 6, mode: 'hybrid', exact: true, highlight: true },
  { q: 'harpon islnd', k: 9, mode: 'hybrid', exact: true, fuzzy: true, explain: true },
  { q: 'capt', k: 9, mode: 'hybrid', exact: true, prefix: true, explain: true },
  { q: 'whale', k: 7, mode: 'boost', exact: true, prefix: true, fuzzy: true },
  { q: 'sailor', k: 5, offset: 15, mode: 'hybrid', exact: true },
  { q: 'sailor', k: 20, mode: 'vector', exact: true, min_score: 0.2 },
  { q: 'ocean', k: 20, mode: 'hybrid', exact: true, min_relevance: 0.4, relevance: true },
  { q: '"whale harpoon" -storm', k: 10, mode: 'hybrid', exact: true, syntax: true },
  { queries: [{ q: 'whale' }, { q: 'storm island', mode: 'hybrid' }], k: 9, exact: true, explain: true },
  { q: 'whale', k: 200, mode: 'hybrid', exact: true },
  { k: 6, sort: { field: 'rank', order: 'desc' } },
  { k: 9, offset: 30, sort: { field: 'docid', order: 'asc' }, filters: { half: 0 } },
  { q: 'whale', k: 3, exact: true, group_by: 'tag', group_size: 2, explain: true },
  { q: 'whale storm', k: 7, mode: 'hybrid', exact: true, group_by: 'tag', group_size: 40, explain: true },
  { q: 'whale', k: 30, exact: true, group_by: 'docid', group_size: 1 },
  { q: 'whale', k: 5, exact: true, boost_by: { fields: [{ field: 'rank', weight: 0.1 }] }, explain: true },
  { q: 'ocean', k: 5, mode: 'hybrid', boost_by: { fields: [{ field: 'rank', weight: 0.1 }] }, group_by: 'half' },
  { q: 'captain', k: 6, exact: true, diversity: { lambda: 0.4, candidates: 50 } },
  { like: { docids: ['d3', 'd4'], not: { docids: ['d5'] } }, k: 4, exact: true, explain: true },
  { queries: [{ like: { docids: ['d3'] } }, { q: 'storm' }], k: 6, exact: true },
];
const REFUSED: readonly object[] = [
  { like: { docids: ['d3', 'nowhere'] }, k: 4 },
  { queries: [{ q: 'storm' }, { like: { chunks: ['nowhere'] } }], k: 4 },
];
const COUNTS: readonly object[] = [
  {},
  { filters: { half: 1 }, facets: ['tag', 'rank'] },
  { q: 'harpoon', facets: [{ field: 'rank', size: 3, ranges: [{ from: 2, to: 9 }] }] },
  { q: 'harpon', fuzzy: true, facets: ['half'] },
];

/** What a server answers, without times. */
async function answersOf(server: Pick<Node, 'url'>, searches = SEARCHES): Promise<unknown[]> {
  const found: unknown[] = [];
  for (const search of searches) {
    const { status, json } = await ask(server, 'POST', `${BASE}/search`, search);
    assert.equal(status, 200, `${JSON.stringify(search)}: ${JSON.stringify(json)}`);
    assert.ok(json.matches.length > 0, `${JSON.stringify(search)} finds nothing`);
    for (const { meta } of json.matches) delete meta.ingested_at;
    found.push([search, json.matches, json.has_more]);
  }
  for (const count of COUNTS) {
    const { status, json } = await ask(server, 'POST', `${BASE}/count`, count);
    assert.equal(status, 200, `${JSON.stringify(count)}: ${JSON.stringify(json)}`);
    found.push([count, json.count, json.facets]);
  }
  return found;
}

/** Compares search by search, so that the message shows one. */
function assertAlike(own: readonly unknown[], expected: readonly unknown[]): void {
  for (const [i, one] of expected.entries()) assert.deepEqual(own[i], one);
}

/** Hits that follow each other by cursors. */
async function pagesOf(server: Pick<Node, 'url'>): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | null = '*';
  while (cursor !== null && ids.length < 60) {
    const search = { q: 'storm', k: 7, mode: 'hybrid', exact: true, cursor };
    const { status, json } = await ask(server, 'POST', `${BASE}/search`, search);
    assert.equal(status, 200, JSON.stringify(json));
    ids.push(...(json.matches as { id: string }[]).map(({ id }) => id));
    cursor = json.next_cursor ?? null;
  }
  return ids;
}

/** Writes what is given to a cluster or a machine. */
async function fill(server: Pick<Node, 'url'>): Promise<void> {
  for (const document of documents()) {
    const { status, json } = await ask(server, 'POST', `${BASE}/documents`, document);
    assert.equal(status, 201, JSON.stringify(json));
  }
}

const changes: readonly [string, string, object?][] = [
  ['DELETE', `${BASE}/documents/d17`],
  ['PATCH', `${BASE}/documents/d40`, { metadata: { tag: 't9' } }],
  ['POST', `${BASE}/documents`, { docid: 'd41', text: 'another harpoon for the captain' }],
];

async function metric(node: Pick<Node, 'url'>, name: string): Promise<number> {
  const text = await (await fetch(`${node.url}/metrics`)).text();
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]);
}

/** Bytes of vectors in the memory of a node. */
const memoryOf = async (node: Node): Promise<number> => (await ask(node, 'GET', `${BASE}/detail`)).json.memory.vectors;

test('nodes that hold some shards each answer every search as one machine does', { skip }, async () => {
  const nats = await startNats();
  const port = String(await freePort());
  const machine = await startServe({ SHEAF_DATA_DIR: tempDirectory(), SHEAF_SERVER__PORT: port, ...SHARDS });
  const nodes = [
    await startNode(nats, SPREAD),
    await startNode(nats, { ...SPREAD, SHEAF_SERVER__THREADS: '2' }),
    await startNode(nats, SPREAD),
  ] as const;
  await fill(machine);
  await fill(nodes[0]);
  const whole = await memoryOf(machine as Node);
  await until(async () => (await Promise.all(nodes.map(memoryOf))).every((bytes) => bytes < whole));

  const expected = await answersOf(machine);
  for (const node of nodes) assertAlike(await answersOf(node), expected);
  const pages = await pagesOf(machine);
  assert.ok(pages.length > 30);
  for (const node of nodes) assert.deepEqual(await pagesOf(node), pages);
  for (const node of nodes) assert.ok((await metric(node, 'sheaf_cluster_searches_sent_total')) > SEARCHES.length);
  const held = await Promise.all(nodes.map(memoryOf));
  assert.ok(
    held.every((bytes) => bytes < whole),
    `${held.join()} bytes of ${whole}: no node has loaded all of it`,
  );

  for (const search of REFUSED) {
    const { status, json } = await ask(machine, 'POST', `${BASE}/search`, search);
    assert.equal(status, 422);
    for (const node of nodes) {
      const own = await ask(node, 'POST', `${BASE}/search`, search);
      assert.deepEqual([own.status, own.json.details], [422, json.details]);
    }
  }

  for (const [method, path, body] of changes)
    for (const server of [machine, nodes[1]]) assert.ok((await ask(server, method, path, body)).status < 300);
  const changed = await answersOf(machine);
  assert.notDeepEqual(changed, expected);
  for (const node of nodes)
    await until(
      async () => JSON.stringify(await answersOf(node)) === JSON.stringify(changed),
      'a node answers otherwise',
    );

  // A node that dies is replaced by those that are asked, and one that comes takes its share.
  nodes[2].child.kill('SIGKILL');
  await nodes[2].ended;
  for (const node of nodes.slice(0, 2)) assertAlike(await answersOf(node), changed);
  const late = await startNode(nats, SPREAD);
  assertAlike(await answersOf(late), changed);
});
