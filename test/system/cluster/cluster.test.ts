// Nodes of a cluster as processes, with three real NATS servers: every node takes writes, all nodes have the same
// documents and give the same answers, and nothing that was acknowledged is lost when servers and nodes are killed.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'node:test';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { SheafClient } from '../../../src/client/client.js';
import { SheafUnreachable } from '../../../src/client/errors.js';
import { createPrng } from '../../../src/base/prng.js';
import { Network } from '../../../load/kit/network.js';
import { runInProcess } from '../../kit/cli.js';
import { type Node, ask, restartNode, skip, startNats, startNode } from '../../kit/nats.js';
import { spawnServe } from '../../kit/process.js';
import { tempDirectory } from '../../kit/temp.js';
import { until } from '../../kit/until.js';

const DOCUMENTS = '/v1/collections/acme/docs/documents';

/** All documents of a node with their versions, in order. */
async function documentsOf(node: Node, collection = 'docs'): Promise<string[]> {
  const found: string[] = [];
  for (let cursor = ''; ; ) {
    const { json } = await ask(
      node,
      'GET',
      `/v1/collections/acme/${collection}/documents?limit=500${cursor && `&cursor=${cursor}`}`,
    );
    found.push(...json.documents.map(({ docid, version, ingested_at: at }: any) => `${docid} ${version} ${at}`));
    if (!json.next_cursor) return found;
    cursor = encodeURIComponent(json.next_cursor);
  }
}

/** Waits until the nodes have applied the same messages, and compares all they have. */
async function areEqual(nodes: readonly Node[], collection = 'docs'): Promise<string[]> {
  const [first, ...others] = nodes as [Node, ...Node[]];
  await until(async () => {
    const lists = await Promise.all(nodes.map((node) => documentsOf(node, collection)));
    return lists.every((list) => list.join() === lists[0]?.join());
  }, 'the nodes do not come to have the same documents');
  const search = { q: 'the whale of document 7', k: 20, exact: true };
  const hits = async (node: Node, mode: string): Promise<object[]> =>
    (
      await ask(node, 'POST', `/v1/collections/acme/${collection}/search`, {
        ...search,
        mode,
        ...(mode === 'hybrid' && { exact: undefined }),
      })
    ).json.matches;
  for (const mode of ['vector', 'hybrid'])
    for (const other of others) assert.deepEqual(await hits(other, mode), await hits(first, mode));
  return documentsOf(first, collection);
}

/** Writes with keys until it is told to stop, and keeps what was acknowledged. */
function startWriters(
  nodes: () => readonly Node[],
  writers: number,
): { acknowledged: Map<string, number>; stop: () => Promise<void> } {
  const acknowledged = new Map<string, number>();
  let isStopped = false as boolean;
  const work = async (writer: number): Promise<void> => {
    const prng = createPrng(writer);
    for (let i = 0; !isStopped; i++) {
      const docid = `${writer}-${i}`;
      const body = { docid, text: `The whale of document ${prng.int(1000)}.` };
      for (;;) {
        const all = nodes();
        const node = all[prng.int(all.length)] as Node;
        const answer = await ask(node, 'POST', DOCUMENTS, body, { 'idempotency-key': docid }).catch(() => undefined);
        if (answer?.status === 200 || answer?.status === 201) {
          acknowledged.set(docid, answer.json.version);
          break;
        }
        assert(answer === undefined || answer.status === 503 || answer.status === 409, JSON.stringify(answer));
        await sleep(50);
      }
    }
  };
  const ended = Promise.all(Array.from({ length: writers }, (_, writer) => work(writer)));
  return { acknowledged, stop: async () => ((isStopped = true), void (await ended)) };
}

const hasAll = (documents: readonly string[], acknowledged: ReadonlyMap<string, number>): void => {
  const versions = new Map(documents.map((line) => [line.split(' ')[0] as string, Number(line.split(' ')[1])]));
  for (const [docid, version] of acknowledged) assert.equal(versions.get(docid), version, `document ${docid}`);
};

test('every node takes writes, and all have the same collections, documents, keys and answers', { skip }, async () => {
  const nats = await startNats();
  const nodes = [await startNode(nats), await startNode(nats), await startNode(nats)] as const;
  const [a, b, c] = nodes;
  for (let i = 0; i < 60; i++) {
    const { status, json } = await ask(nodes[i % 3] as Node, 'POST', DOCUMENTS, {
      docid: `d${i}`,
      text: `The whale of document ${i}.`,
      metadata: { half: i % 2 },
    });
    assert.equal(status, 201, JSON.stringify(json));
  }
  assert.equal((await areEqual(nodes)).length, 60);
  assert.equal((await ask(b, 'PATCH', `${DOCUMENTS}/d7`, { metadata: { half: 9 } })).status, 200);
  assert.equal((await ask(c, 'DELETE', `${DOCUMENTS}/d8`)).status, 200);
  assert.equal(
    (await ask(a, 'POST', '/v1/collections/acme/docs/documents:delete', { filters: { half: 1 } })).status,
    200,
  );
  assert.equal((await areEqual(nodes)).length, 30);
  const key = { 'idempotency-key': 'once' };
  const first = await ask(a, 'POST', DOCUMENTS, { docid: 'kept', text: 'Written once.' }, key);
  await areEqual(nodes);
  const again = await ask(b, 'POST', DOCUMENTS, { docid: 'kept', text: 'Written once.' }, key);
  assert.deepEqual([again.json.docid, again.json.version], [first.json.docid, first.json.version]);
  assert.equal((await ask(b, 'POST', '/v1/collections/acme/docs/move', { new_name: 'papers' })).status, 200);
  await until(async () => (await ask(c, 'GET', '/v1/collections/acme/papers/detail')).status === 200);
  assert.equal((await areEqual(nodes, 'papers')).length, 31);
  assert.equal((await ask(c, 'DELETE', '/v1/collections/acme/papers')).status, 200);
  await until(async () => (await ask(a, 'GET', '/v1/collections/acme')).json.count === 0);
});

for (const threads of ['0', '2'])
  test(`a read with the token of a write sees it on every node, ${threads} front threads`, { skip }, async () => {
    const nats = await startNats();
    const nodes = [
      await startNode(nats, { SHEAF_SERVER__THREADS: threads }),
      await startNode(nats, { SHEAF_SERVER__THREADS: threads }),
    ];
    for (let i = 0; i < 100; i++) {
      const [writer, reader] = i % 2 === 0 ? nodes : [...nodes].reverse();
      const docid = `d${i}`;
      const { token } = await ask(writer as Node, 'POST', DOCUMENTS, { docid, text: `The whale of document ${i}.` });
      const after = { 'x-consistency': token };
      assert.equal((await ask(reader as Node, 'GET', `${DOCUMENTS}/${docid}`, undefined, after)).status, 200);
      const search = { q: 'whale', k: 200, mode: 'vector' };
      const { json } = await ask(reader as Node, 'POST', '/v1/collections/acme/docs/search', search, after);
      assert.equal(json.matches.length, i + 1);
    }
    for (let i = 0; i < 20; i++) {
      const [writer, reader] = (i % 2 === 0 ? nodes : [...nodes].reverse()) as [Node, Node];
      await ask(writer, 'POST', DOCUMENTS, { docid: `s${i}`, text: `The whale of document ${i}.` });
      const read = await ask(reader, 'GET', `${DOCUMENTS}/s${i}`, undefined, { 'x-consistency': 'strong' });
      assert.equal(read.status, 200);
    }
    const [node] = nodes as [Node];
    const { token } = await ask(node, 'GET', '/health');
    const [stream, sequence] = token.split(':') as [string, string];
    const ahead = { 'x-consistency': `${stream}:${Number(sequence) + 1000}` };
    assert.equal((await ask(node, 'GET', `${DOCUMENTS}/d1`, undefined, ahead)).json.code, 'node_behind');
    for (const bad of ['7', 'other:7', `${stream}:x`])
      assert.equal((await ask(node, 'GET', `${DOCUMENTS}/d1`, undefined, { 'x-consistency': bad })).status, 422);
    await until(async () => {
      const { json } = await ask(node, 'GET', '/v1/admin/cluster');
      return json.nodes.length === 2 && json.leader !== null;
    }, 'the nodes do not hear of each other');
    const { json } = await ask(node, 'GET', '/v1/admin/cluster');
    assert.equal(json.cluster, 'main');
    assert(json.nodes.every(({ lag, fenced }: any) => lag < 10 && fenced === null));
    assert(json.nodes.some(({ node: id }: any) => id === json.leader));
    const told = await runInProcess(['cluster', '--url', node.url]);
    assert.equal(told.code, 0, told.stderr);
    for (const { node: id } of json.nodes) assert.match(told.stdout, new RegExp(`${id}.* yes `));
  });

test('an archive of a node is of one moment of the log', { skip }, async () => {
  const nats = await startNats();
  const nodes = [await startNode(nats), await startNode(nats)] as const;
  await ask(nodes[0], 'POST', '/v1/collections/acme/docs', { partitions: 2 });
  let isOver = false as boolean;
  let written = 0;
  const writing = (async () => {
    for (; !isOver; written++)
      await ask(nodes[0], 'POST', DOCUMENTS, { docid: `d${written}`, text: `Document ${written}.` });
  })();
  await until(() => written > 20);
  for (let round = 0; round < 5; round++) {
    const response = await fetch(`${nodes[1].url}/v1/collections/acme/docs/archive`);
    const form = new FormData();
    form.append('file', new Blob([await response.arrayBuffer()]), 'archive.zip');
    const restored = await fetch(`${nodes[0].url}/v1/collections/acme/copy${round}/archive`, {
      method: 'POST',
      body: form,
    });
    assert.equal(restored.status, 200, await restored.text());
    const numbers = (await documentsOf(nodes[0], `copy${round}`)).map((line) => Number(line.slice(1).split(' ')[0]));
    // Each document was written after the one before it was acknowledged, so none of them may be missing.
    assert.deepEqual(
      numbers.sort((a, b) => a - b),
      Array.from({ length: numbers.length }, (_, i) => i),
    );
  }
  isOver = true;
  await writing;
  await areEqual(nodes, 'copy4');
});

test('the stream of another cluster fences the nodes: reads go on, writes say why, and nothing is rebuilt', {
  skip,
}, async () => {
  const nats = await startNats();
  const node = await startNode(nats);
  await ask(node, 'POST', DOCUMENTS, { docid: 'd1', text: 'The whale of document 1.' });
  const connection = await connect({ servers: JSON.parse(nats.env.SHEAF_CLUSTER__NATS as string) });
  const manager = await jetstreamManager(connection);
  const { config } = await manager.streams.info('SHEAF_main');
  await manager.streams.delete('SHEAF_main');
  await manager.streams.add({ ...config, metadata: { ...config.metadata, sheaf_id: 'another' } });
  // A node of the other cluster leads.
  await jetstream(connection).publish('sheaf.main.log.lead', 'another');
  await connection.close();
  await until(async () => (await ask(node, 'GET', '/v1/admin/cluster')).json.nodes[0]?.fenced === 'recreated');
  const told = await runInProcess(['cluster', '--url', node.url]);
  assert.equal(told.code, 1, told.stderr);
  assert.match(told.stdout, /no: recreated/);
  await sleep(8000);
  const refused = await ask(node, 'POST', DOCUMENTS, { docid: 'd2', text: 'The whale of document 2.' });
  assert.deepEqual(
    [refused.status, refused.json.code, refused.json.details],
    [503, 'cluster_fenced', { reason: 'recreated' }],
  );
  assert.equal((await ask(node, 'GET', `${DOCUMENTS}/d1`)).status, 200);
  assert.equal((await ask(node, 'GET', '/health')).json.status, 'degraded');
  const metrics = await (await fetch(`${node.url}/metrics`)).text();
  assert.match(metrics, /^sheaf_cluster_fenced 1$/m);
});

test('a client of several nodes goes on with the next one when its node is killed, and sees what it has written', {
  skip,
}, async () => {
  const nats = await startNats();
  const nodes = [await startNode(nats), await startNode(nats)] as const;
  const client = new SheafClient({ url: nodes.map(({ url }) => url), idempotent: true });
  for (let i = 0; i <= 30; i++) {
    if (i === 20) nodes[0].child.kill('SIGKILL');
    await client.ingestText('acme', 'docs', { docid: `d${i}`, text: `The whale of document ${i}.` });
    if (i === 30) nodes[1].child.kill('SIGKILL');
    const searched = client.search('acme', 'docs', { q: 'whale', k: 200, mode: 'vector' }, { retriesMax: 1 });
    if (i === 30) return assert.rejects(searched, SheafUnreachable);
    assert.equal((await searched).matches.length, i + 1);
  }
});

test('killed leaders and nodes lose nothing that was acknowledged', { skip, timeout: 300_000 }, async () => {
  const nats = await startNats();
  let nodes: Node[] = [await startNode(nats), await startNode(nats)];
  const alive = new Set(nodes);
  const { acknowledged, stop } = startWriters(() => [...alive], 8);
  let searches = 0;
  let failed = 0;
  let isSearching = true as boolean;
  const searching = (async () => {
    while (isSearching) {
      const { status } = await ask(nodes[0] as Node, 'POST', '/v1/collections/acme/docs/search', {
        q: 'whale',
        k: 5,
      }).catch(() => ({ status: 0 }));
      searches++;
      if (status !== 200 && status !== 404) failed++;
      await sleep(20);
    }
  })();
  const moreAcknowledged = async (): Promise<void> => {
    const before = acknowledged.size;
    await until(() => acknowledged.size > before + 20, 'nothing is acknowledged any more');
  };
  await moreAcknowledged();
  const leader = await nats.leader();
  await leader.kill();
  await moreAcknowledged();
  await leader.start();
  // The second node dies amid its writes and comes back.
  const [, second] = nodes as [Node, Node];
  alive.delete(second);
  second.child.kill('SIGKILL');
  await second.ended;
  await moreAcknowledged();
  const back = await restartNode(nats, second);
  nodes = [nodes[0] as Node, back];
  alive.add(back);
  await moreAcknowledged();
  // All servers of the log die at once.
  await Promise.all(nats.servers.map((server) => server.kill()));
  await sleep(500);
  await Promise.all(nats.servers.map((server) => server.start()));
  await moreAcknowledged();
  await stop();
  isSearching = false;
  await searching;
  hasAll(await areEqual(nodes), acknowledged);
  assert.equal(failed, 0, `${failed} of ${searches} searches failed`);
  const late = await startNode(nats);
  hasAll(await areEqual([...nodes, late]), acknowledged);
});

test('a node that starts without the log serves what it has, says how old that is, and takes writes when the log is back', {
  skip,
  timeout: 300_000,
}, async () => {
  const nats = await startNats();
  const [a, b] = [await startNode(nats), await startNode(nats)];
  const search = (node: Node, headers = {}): Promise<Response> =>
    fetch(`${node.url}/v1/collections/acme/docs/search?q=whale`, { headers });
  const ageOf = async (node: Node): Promise<number> => Number((await search(node)).headers.get('x-consistency-age'));
  const { token } = await ask(a, 'POST', DOCUMENTS, { docid: 'one', text: 'A whale.' });
  assert.equal((await search(b, { 'x-consistency': token })).status, 200);
  await until(async () => (await ageOf(b)) < 2, 'the age of a node that has everything is not known');
  assert.equal((await search(b, { 'x-consistency': 'max-age=5' })).status, 200);
  await Promise.all(nats.servers.map((server) => server.kill()));
  b.child.kill('SIGKILL');
  await b.ended;
  const back = await restartNode(nats, b);
  const answer = await search(back);
  assert.equal(answer.status, 200);
  assert.equal((await answer.json()).matches.length, 1);
  assert.equal(answer.headers.get('x-consistency-age'), 'unknown');
  // The other node has been running all the time.
  const before = await ageOf(a);
  await sleep(1500);
  assert.ok((await ageOf(a)) >= before + 1, 'the age does not grow');
  for (const [node, wanted] of [
    [back, 'max-age=60'],
    [a, 'max-age=0.5'],
  ] as const) {
    const refused = await search(node, { 'x-consistency': wanted });
    assert.equal(refused.status, 503);
    assert.equal((await refused.json()).code, 'node_behind');
  }
  assert.equal((await search(a, { 'x-consistency': 'max-age=60' })).status, 200);
  assert.equal((await search(a, { 'x-consistency': 'max-age=soon' })).status, 422);
  // A write waits for the log, which comes back.
  const written = ask(back, 'POST', DOCUMENTS, { docid: 'two', text: 'Another whale.' });
  await Promise.all(nats.servers.map((server) => server.start()));
  await until(async () => {
    const { status } = await ask(back, 'POST', DOCUMENTS, { docid: 'three', text: 'A third whale.' });
    return status === 201;
  }, 'the node takes no writes');
  const { status } = await written;
  assert.ok(status === 201 || status === 503, String(status));
  await until(async () => (await ageOf(back)) < 2, 'the node does not catch up');
  await areEqual([a, back]);
});

test('a node starts and is read while the servers of the log find no leader, and takes writes when they have one', {
  skip,
}, async (t) => {
  const network = new Network();
  t.after(() => network.close());
  const nats = await startNats({ network });
  const node = await startNode(nats);
  assert.equal((await ask(node, 'POST', DOCUMENTS, { docid: 'one', text: 'A whale.' })).status, 201);
  node.child.kill('SIGTERM');
  assert.equal(await node.ended, 0, node.output());
  const [a, b, c] = nats.servers.map(({ name }) => name) as [string, string, string];
  for (const [from, to] of [
    [a, b],
    [b, c],
    [c, a],
  ] as const)
    network.cutBetween(from, to, 'both');
  // Until servers notice it, they answer as before.
  await Promise.all(nats.servers.map((server) => server.kill()));
  await Promise.all(nats.servers.map((server) => server.start('/healthz?js-server-only=true')));
  const back = await restartNode(nats, node);
  assert.match(back.output(), /JetStream is not ready/);
  assert.equal((await ask(back, 'GET', `${DOCUMENTS}/one`)).status, 200);
  network.heal();
  await until(async () => {
    const { status } = await ask(back, 'POST', DOCUMENTS, { docid: 'two', text: 'Another whale.' });
    return status === 201;
  }, 'the node takes no writes');
});

test('a node that is cut off from the log ends when it is told to', { skip, timeout: 120_000 }, async (t) => {
  const network = new Network();
  t.after(() => network.close());
  const nats = await startNats({ network });
  for (const cut of ['both', 'in'] as const) {
    const node = await startNode({ env: await nats.envOf(cut) });
    const put = (docid: string): ReturnType<typeof ask> => ask(node, 'POST', DOCUMENTS, { docid, text: 'A whale.' });
    assert.equal((await put('one')).status, 201);
    network.cut(cut, cut);
    const { json } = await put('two');
    assert.equal(json.code, 'log_unavailable');
    node.child.kill('SIGTERM');
    assert.equal(await node.ended, 0, node.output());
  }
});

test('a cluster that cannot be kept refuses to start, and says what to change', { skip }, async () => {
  const outputOf = async (env: Record<string, string>): Promise<string> => {
    const server = spawnServe({ SHEAF_DATA_DIR: tempDirectory(), ...env });
    assert.equal(await server.ended, 1);
    return server.output();
  };
  const careless = await startNats({ sync: '' });
  assert.match(await outputOf(careless.env), /does not sync each message to disk: set "sync_interval: always"/);
  const { SHEAF_CLUSTER__MONITORS: _, ...unmonitored } = careless.env as Record<string, string>;
  assert.match(await outputOf(unmonitored), /cluster\.monitors should name the monitoring endpoints/);
  const nats = await startNats();
  const node = await startNode(nats);
  assert.match(
    await outputOf({ ...nats.env, SHEAF_STORAGE__PARTITIONS: '3' }),
    /the cluster has 2 shards, and this data directory has 3/,
  );
  const single = { SHEAF_DATA_DIR: tempDirectory(), SHEAF_STORAGE__PARTITIONS: '2' };
  const alone = await startNode({ ...nats, env: {} }, single);
  await ask(alone, 'POST', DOCUMENTS, { text: 'Data of a single machine.' });
  alone.child.kill('SIGTERM');
  await alone.ended;
  assert.match(await outputOf({ ...single, ...nats.env }), /has data that the cluster does not begin with/);
  assert.equal((await ask(node, 'GET', '/health/ready')).json.checks.log, 'ok');
});
