// Reindex jobs of a cluster: started, paused, cancelled and rolled back by any node, run by the one that leads, and
// continued by another one if that is killed, while documents are written on all nodes. Real NATS servers and processes;
// the other embedder is a local endpoint.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { type TestContext, test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { type Node, ask, restartNode, skip, startNats, startNode } from '../../kit/nats.js';
import { type Far, TO_FAR, startFar } from '../../kit/reindex.js';
import { until } from '../../kit/until.js';

const BASE = '/v1/collections/acme/docs';
const DOCUMENTS = `${BASE}/documents`;
const CALL_MS = 40;

/** Starts three nodes with the endpoint as second embedder, and waits until one of them leads. */
async function startCluster(far: Far, env: Record<string, string>) {
  const nats = await startNats();
  const all = { ...far.env, SHEAF_EMBEDDER__DEFAULT: 'builtin', ...env };
  const nodes = [await startNode(nats, all), await startNode(nats, all), await startNode(nats, all)];
  await until(async () => (await leaderOf(nodes[0] as Node)) !== null, 'no node leads');
  return { nats, nodes };
}

const leaderOf = async (node: Node): Promise<string | null> =>
  (await ask(node, 'GET', '/v1/admin/cluster')).json.leader;

/** The place of the node that leads. */
async function leading(nodes: readonly Node[]): Promise<number> {
  const states = await Promise.all(nodes.map((node) => ask(node, 'GET', '/v1/admin/cluster')));
  return states.findIndex(({ json }) => json.node === json.leader);
}

interface Writers {
  /** What was acknowledged last of each document: its text, or null if it was deleted. */
  readonly known: ReadonlyMap<string, string | null>;
  stop(): Promise<void>;
}

/** Writes, changes and deletes documents on all nodes, each of which one client writes. */
function startWriters(t: TestContext, nodes: readonly Node[]): Writers {
  const known = new Map<string, string | null>();
  let isStopped = false as boolean;
  t.after(() => (isStopped = true));
  const work = async (writer: number): Promise<void> => {
    const prng = createPrng(writer);
    for (let i = 0; !isStopped; i++) {
      const docid = `w${writer}-${prng.int(20)}`;
      const text = `The whale ${i} of ${docid}.`;
      const kind = known.get(docid) ? prng.int(4) : 0;
      for (;;) {
        const node = nodes[prng.int(nodes.length)] as Node;
        const asked =
          kind === 1
            ? ask(node, 'DELETE', `${DOCUMENTS}/${docid}`)
            : kind === 2
              ? ask(node, 'PATCH', `${DOCUMENTS}/${docid}`, { metadata: { round: i } })
              : ask(node, 'POST', DOCUMENTS, { docid, text });
        const answer = await asked.catch(() => undefined);
        const isGone = kind === 1 && answer?.status === 404;
        if (isGone || (answer && answer.status < 300)) {
          if (kind !== 2) known.set(docid, kind === 1 ? null : text);
          break;
        }
        // A node that has not applied a deletion yet may refuse a patch of the document that another one knows.
        if (kind === 2 && answer?.status === 404) break;
        assert.ok(answer === undefined || answer.status === 503, JSON.stringify(answer));
        await sleep(50);
      }
    }
  };
  const ended = Promise.all([1, 2, 3, 4].map(work));
  return { known, stop: async () => ((isStopped = true), void (await ended)) };
}

/** Asserts that every node has what was acknowledged, and finds all of it in the vector space of the collection. */
async function areComplete(nodes: readonly Node[], filled: number, known: Writers['known']): Promise<void> {
  const wanted = new Map<string, string>();
  for (let i = 0; i < filled; i++) wanted.set(`d${i}`, textOf(i));
  for (const [docid, text] of known) if (text !== null) wanted.set(docid, text);
  for (const node of nodes) {
    await until(
      async () => (await ask(node, 'POST', `${BASE}/count`, {})).json.count === wanted.size,
      `a node does not come to have ${wanted.size} chunks`,
    );
    const { status, json } = await ask(node, 'POST', `${BASE}/search`, { q: 'whale', k: 500, exact: true });
    assert.equal(status, 200);
    const found = new Map(json.matches.map(({ id, text }: any) => [id.split('::')[0], text]));
    assert.deepEqual([...found].sort(), [...wanted].sort());
  }
}

/** What nodes tell of fences and stalls; nothing if all is well. */
async function troubles(nodes: readonly Node[]): Promise<unknown[]> {
  const states = await Promise.all(nodes.map((node) => ask(node, 'GET', '/v1/admin/cluster')));
  return states.flatMap(({ json }) => [
    ...json.nodes.filter(({ fenced }: any) => fenced !== null).map(({ fenced }: any) => fenced),
    ...json.stalled,
  ]);
}

const textOf = (i: number): string => `The whale of document ${i}.`;

async function fill(nodes: readonly Node[], count: number): Promise<void> {
  for (let i = 0; i < count; i += 20) {
    const documents = Array.from({ length: 20 }, (_, n) => ({ docid: `d${i + n}`, text: textOf(i + n) }));
    const node = nodes[(i / 20) % nodes.length] as Node;
    const { status, json } = await ask(node, 'POST', `${DOCUMENTS}:batch`, { documents });
    assert.equal(status, 201, JSON.stringify(json).slice(0, 300));
  }
}

const embedderOf = async (node: Node): Promise<string> => (await ask(node, 'GET', `${BASE}/detail`)).json.embedder_type;

async function ended(node: Node, id: string, status: string): Promise<void> {
  await until(async () => {
    const answer = await ask(node, 'GET', `${BASE}/reindex/${id}`).catch(() => undefined);
    assert.notEqual(answer?.json.status, status === 'failed' ? 'succeeded' : 'failed', JSON.stringify(answer?.json));
    return answer?.json.status === status;
  }, `the job does not become ${status}`);
}

for (const copies of ['0', '1'])
  test(`a job goes on when the node that runs it is killed, and loses no write (search copies: ${copies})`, {
    skip,
  }, async (t) => {
    const far = await startFar(t, { fail: async () => void (await sleep(CALL_MS)) });
    const { nats, nodes } = await startCluster(far, {
      SHEAF_CLUSTER__SEARCH_COPIES: copies,
      SHEAF_CLUSTER__LEAVE_S: '5',
    });
    await fill(nodes, 200);
    const writers = startWriters(t, nodes);
    const place = await leading(nodes);
    const other = nodes[(place + 1) % 3] as Node;
    const started = await ask(other, 'POST', `${BASE}/reindex`, { ...TO_FAR, keep_previous_seconds: 600 });
    assert.equal(started.status, 200, JSON.stringify(started.json));
    const id = started.json.job_id;
    assert.equal((await ask(other, 'GET', `${BASE}/reindex/${id}`)).status, 200);
    const busy = await ask(nodes[(place + 2) % 3] as Node, 'POST', `${BASE}/reindex`, { compact: true });
    assert.equal(busy.json.code, 'reindex_conflict');
    await until(async () => (await ask(other, 'GET', `${BASE}/reindex/${id}`)).json.completed_chunks > 20);
    const leader = nodes[place] as Node;
    leader.child.kill('SIGKILL');
    await leader.ended;
    await ended(other, id, 'succeeded');
    nodes[place] = await restartNode(nats, leader);
    await sleep(500);
    await writers.stop();
    for (const node of nodes) {
      await ended(node, id, 'succeeded');
      await until(async () => (await embedderOf(node)) === 'openai', 'a node has the former embedder');
    }
    await areComplete(nodes, 200, writers.known);

    // Back, by a node that does not lead, beside writes.
    await until(async () => (await leading(nodes)) >= 0);
    const more = startWriters(t, nodes);
    await sleep(300);
    const back = await ask(nodes[((await leading(nodes)) + 1) % 3] as Node, 'POST', `${BASE}/rollback`);
    assert.equal(back.status, 200, JSON.stringify(back.json));
    await sleep(300);
    await more.stop();
    for (const node of nodes) await until(async () => (await embedderOf(node)) === 'builtin');
    await areComplete(nodes, 200, new Map([...writers.known, ...more.known]));
  });

test('a job is paused, resumed and cancelled by any node, and a collection is built anew', { skip }, async (t) => {
  const far = await startFar(t, { fail: async () => void (await sleep(CALL_MS)) });
  const { nodes } = await startCluster(far, {});
  await fill(nodes, 100);
  const place = await leading(nodes);
  const [first, second] = [1, 2].map((step) => nodes[(place + step) % 3]) as [Node, Node];
  const { json: job, token } = await ask(first, 'POST', `${BASE}/reindex`, TO_FAR);
  const after = { 'X-Consistency': token };
  const paused = await ask(second, 'POST', `/v1/admin/reindex/${job.job_id}/pause`, undefined, after);
  assert.equal(paused.status, 200, JSON.stringify(paused.json));
  for (const node of nodes) await ended(node, job.job_id, 'paused');
  await ask(first, 'POST', `/v1/admin/reindex/${job.job_id}/resume`);
  const cancelled = await ask(second, 'DELETE', `${BASE}/reindex/${job.job_id}`);
  assert.ok(cancelled.status < 300, JSON.stringify(cancelled.json));
  for (const node of nodes) await ended(node, job.job_id, 'cancelled');
  assert.equal(await embedderOf(first), 'builtin');

  const { json: anew } = await ask(second, 'POST', `${BASE}/reindex`, { compact: true });
  for (const node of nodes) await ended(node, anew.job_id, 'succeeded');
  await areComplete(nodes, 100, new Map());
});

test('a collection that outgrows its shards is spread by itself', { skip }, async () => {
  const nats = await startNats();
  const env = { SHEAF_STORAGE__PARTITIONS: '2', SHEAF_COLLECTIONS__CHUNKS_PER_PARTITION: '100' };
  const nodes = [await startNode(nats, env), await startNode(nats, env)];
  await until(async () => (await leaderOf(nodes[0] as Node)) !== null, 'no node leads');
  await fill(nodes, 120);
  for (const node of nodes)
    await until(async () => (await ask(node, 'GET', `${BASE}/detail`)).json.partitions === 2, 'it is not spread');
  await areComplete(nodes, 120, new Map());
  assert.deepEqual(await troubles(nodes), []);
});

for (const placement of ['collections', 'shards'])
  test(`a collection is spread beside writes on all nodes, one of which is killed as it does it (${placement})`, {
    skip,
  }, async (t) => {
    const nats = await startNats();
    const env = {
      SHEAF_STORAGE__PARTITIONS: '4',
      SHEAF_CLUSTER__PLACEMENT: placement,
      SHEAF_CLUSTER__SEARCH_COPIES: placement === 'shards' ? '1' : '0',
      SHEAF_CLUSTER__LEAVE_S: '5',
    };
    const nodes = [await startNode(nats, env), await startNode(nats, env), await startNode(nats, env)];
    await until(async () => (await leaderOf(nodes[0] as Node)) !== null, 'no node leads');
    assert.equal((await ask(nodes[0] as Node, 'POST', BASE, { partitions: 1 })).status, 201);
    await fill(nodes, 300);
    const writers = startWriters(t, nodes);
    const place = await leading(nodes);
    const other = nodes[(place + 1) % 3] as Node;
    const spreadTo = async (partitions: number): Promise<string> => {
      const { status, json } = await ask(other, 'POST', `${BASE}/reindex`, { partitions });
      assert.equal(status, 200, JSON.stringify(json));
      return json.job_id;
    };
    const id = await spreadTo(4);
    const leader = nodes[place] as Node;
    leader.child.kill('SIGKILL');
    await leader.ended;
    await ended(other, id, 'succeeded');
    nodes[place] = await restartNode(nats, leader);
    await until(async () => (await leaderOf(other)) !== null, 'no node leads');
    const back = await spreadTo(2);
    for (const node of nodes) await ended(node, back, 'succeeded');
    await sleep(300);
    await writers.stop();
    for (const node of nodes)
      await until(
        async () => (await ask(node, 'GET', `${BASE}/detail`)).json.partitions === 2,
        'a node has other shards',
      );
    await areComplete(nodes, 300, writers.known);
    assert.deepEqual(await troubles(nodes), []);
  });

test('a node whose job waits for the log stops when it is told to, and goes on with the job', { skip }, async (t) => {
  const far = await startFar(t, { fail: async () => void (await sleep(CALL_MS)) });
  const nats = await startNats();
  const env = { ...far.env, SHEAF_EMBEDDER__DEFAULT: 'builtin', SHEAF_LIMITS__DRAIN_TIMEOUT_SECONDS: '1' };
  const node = await startNode(nats, env);
  await until(async () => (await leaderOf(node)) !== null, 'the node does not lead');
  await fill([node], 200);
  const started = await ask(node, 'POST', `${BASE}/reindex`, TO_FAR);
  assert.equal(started.status, 200, JSON.stringify(started.json));
  await Promise.all(nats.servers.map((server) => server.kill()));
  const refused = (): number => node.output().split('the command log has not taken a write').length - 1;
  await until(() => refused() > 0, 'the job does not come to write a page');
  node.child.kill('SIGTERM');
  assert.equal(await node.ended, 0, node.output());
  // It did not make all the attempts that it makes otherwise.
  assert.ok(refused() <= 2, node.output());
  await Promise.all(nats.servers.map((server) => server.start()));
  const again = await restartNode(nats, node);
  await ended(again, started.json.job_id, 'succeeded');
  await areComplete([again], 200, new Map());
});
