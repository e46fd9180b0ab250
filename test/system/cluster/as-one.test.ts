// What is the cluster's and not a node's: logged searches, which any node lists, finds and replays, and the limits of a
// tenant.
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { test } from 'node:test';
import { type Node, ask, skip, startNats, startNode } from '../../kit/nats.js';
import { until } from '../../kit/until.js';

const BASE = '/v1/collections/acme/docs';
const PER_SECOND = 40;
const BURST = 40;

test('any node lists, finds and replays the searches that others were asked for', { skip }, async () => {
  const nats = await startNats();
  const nodes = [await startNode(nats), await startNode(nats), await startNode(nats)] as const;
  const [a, b, c] = nodes;
  for (const node of nodes)
    await until(async () => (await ask(node, 'GET', '/v1/admin/cluster')).json.nodes?.length === 3);
  const { token } = await ask(a, 'POST', `${BASE}/documents`, { docid: 'd', text: 'A whale under the sea.' });
  for (const node of nodes) await ask(node, 'GET', `${BASE}/documents/d`, undefined, { 'x-consistency': token });
  for (let i = 0; i < 30; i++)
    assert.equal((await ask(nodes[i % 3] as Node, 'POST', `${BASE}/search`, { q: `whale ${i}` })).status, 200);
  const listed = async (node: Node, query: string): Promise<{ query_id: string; query_text: string }[]> =>
    (await ask(node, 'GET', `${BASE}/queries?${query}`)).json.queries;
  const all = (await listed(a, 'limit=100')).map(({ query_text }) => query_text);
  assert.deepEqual(
    all,
    Array.from({ length: 30 }, (_, i) => `whale ${29 - i}`),
  );
  for (const node of [b, c]) assert.deepEqual(await listed(node, 'limit=100'), await listed(a, 'limit=100'));
  const paged: string[] = [];
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    const from = cursor === '' ? '' : `&cursor=${cursor}`;
    const { json } = await ask(b, 'GET', `${BASE}/queries?limit=7${from}`);
    paged.push(...json.queries.map(({ query_text }: { query_text: string }) => query_text));
    cursor = json.next_cursor;
  }
  assert.deepEqual(paged, all);
  assert.deepEqual(
    (await listed(c, 'limit=4&offset=11')).map(({ query_text }) => query_text),
    all.slice(11, 15),
  );
  assert.equal((await listed(c, 'q=whale%202')).length, 11);
  const [{ query_id: id } = { query_id: '' }] = await listed(b, 'q=whale%2013');
  for (const node of nodes) {
    assert.equal((await ask(node, 'GET', `${BASE}/queries/${id}`)).json.query.query_text, 'whale 13');
    const { json } = await ask(node, 'POST', `${BASE}/queries/${id}/replay`);
    assert.equal(json.matches[0].id, 'd::chunk_0');
  }
  assert.equal((await listed(a, 'limit=100')).length, 33);
  // A node that is away takes its log with it until it is back.
  c.child.kill('SIGKILL');
  await until(async () => (await listed(a, 'limit=100')).length === 22, 'the log of a dead node is still shown');
  await ask(a, 'DELETE', BASE);
  await until(async () => (await listed(b, 'limit=100')).length === 0);
});

test('an archive has the searches of all nodes, and the node that restores it shows none of them twice', {
  skip,
}, async () => {
  const nats = await startNats();
  const nodes = [await startNode(nats), await startNode(nats)] as const;
  const [a, b] = nodes;
  for (const node of nodes)
    await until(async () => (await ask(node, 'GET', '/v1/admin/cluster')).json.nodes?.length === 2);
  const { token } = await ask(a, 'POST', `${BASE}/documents`, { docid: 'd', text: 'A whale under the sea.' });
  await ask(b, 'GET', `${BASE}/documents/d`, undefined, { 'x-consistency': token });
  const asked = Array.from({ length: 30 }, (_, i) => `whale ${i}`);
  for (const [i, q] of asked.entries())
    assert.equal((await ask(nodes[i % 2] as Node, 'POST', `${BASE}/search`, { q })).status, 200);
  const listed = async (node: Node, base: string): Promise<string[]> =>
    (await ask(node, 'GET', `${base}/queries?limit=500`)).json.queries.map(
      ({ query_text: text }: { query_text: string }) => text,
    );
  const newestFirst = asked.toReversed();
  const archive = async (node: Node, path: string): Promise<Blob> => (await fetch(node.url + path)).blob();
  const restore = async (method: 'POST' | 'PUT', node: Node, path: string, file: Blob): Promise<void> => {
    const body = new FormData();
    body.append('file', file, 'archive.zip');
    assert.equal((await fetch(node.url + path, { method, body })).status, 200);
  };
  const copy = '/v1/collections/acme/copy';
  await restore('POST', a, `${copy}/archive`, await archive(b, `${BASE}/archive`));
  const whole = '/v1/collections/acme/whole';
  await restore('POST', b, `${whole}/archive?from=docs`, await archive(a, '/v1/admin/archive'));
  // In place of the collection, whose entries each node still has.
  await restore('PUT', b, `${BASE}/archive`, await archive(a, `${BASE}/archive`));
  for (const node of nodes)
    for (const base of [copy, whole, BASE])
      await until(
        async () => JSON.stringify(await listed(node, base)) === JSON.stringify(newestFirst),
        `the searches of ${base}`,
      );
  assert.equal((await ask(a, 'GET', `${BASE}/queries?limit=4&offset=11`)).json.queries.length, 4);
});

test('a tenant has its rate over all nodes, whichever it asks', { skip }, async () => {
  const nats = await startNats();
  const limits = {
    SHEAF_LIMITS__TENANT__REQUESTS_PER_SECOND: String(PER_SECOND),
    SHEAF_LIMITS__TENANT__BURST: String(BURST),
    SHEAF_SERVER__THREADS: '2',
    SHEAF_AUTH__MODE: 'static',
    SHEAF_AUTH__ADMIN_KEY: 'root',
    SHEAF_AUTH__KEYS: JSON.stringify([{ name: 'web', tenant: 'acme', key: 'key-of-acme' }]),
  };
  const nodes = [await startNode(nats, limits), await startNode(nats, limits), await startNode(nats, limits)];
  const startedAtMs = performance.now();
  const passedS = (): number => (performance.now() - startedAtMs) / 1000;
  let [admitted, refused] = [0, 0];
  const load = async (node: Node): Promise<void> => {
    while (passedS() < 10) {
      const { status } = await ask(node, 'GET', '/v1/collections/acme', undefined, {
        authorization: 'Bearer key-of-acme',
      });
      assert.ok(status === 200 || status === 429, String(status));
      if (status === 200) admitted++;
      else refused++;
    }
  };
  await Promise.all(nodes.flatMap((node) => [load(node), load(node)]));
  const most = PER_SECOND * passedS() + nodes.length * BURST;
  // By themselves the nodes would admit three times the rate. The news of a busy machine may take two seconds.
  assert.ok(admitted < most + 2 * PER_SECOND * nodes.length, `${admitted} admitted, ${most} expected`);
  assert.ok(admitted > (PER_SECOND * passedS()) / 2, `${admitted} admitted, ${refused} refused`);
  assert.ok(refused > 0);
});

test('requests of a tenant that are in progress on one node count on the others', { skip }, async (t) => {
  const nats = await startNats();
  const limits = {
    SHEAF_LIMITS__TENANT__MAX_IN_FLIGHT: '6',
    SHEAF_AUTH__MODE: 'static',
    SHEAF_AUTH__ADMIN_KEY: 'root',
    SHEAF_AUTH__KEYS: JSON.stringify([{ name: 'web', tenant: 'acme', key: 'key-of-acme' }]),
  };
  const headers = { authorization: 'Bearer key-of-acme' };
  const nodes = [await startNode(nats, limits), await startNode(nats, limits)] as const;
  const [a, b] = nodes;
  /** A request whose body does not end, and what it is answered nevertheless. */
  const slow = ({ url }: Node): { answered: Promise<number | undefined>; end: () => void } => {
    const sent = request(`${url}${BASE}/documents`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', 'content-length': 1000 },
    });
    const end = (): void => void sent.destroy();
    t.after(end);
    const answered = new Promise<number | undefined>((resolve) =>
      sent.on('response', ({ statusCode }) => resolve(statusCode)).on('error', () => resolve(undefined)),
    );
    sent.write('{');
    return { answered, end };
  };
  const held = Array.from({ length: 4 }, () => slow(a));
  const left = async (node: Node): Promise<number> => {
    const response = await fetch(`${node.url}/v1/collections/acme`, { headers });
    await response.body?.cancel();
    return response.status === 429 ? 0 : Number(response.headers.get('x-ratelimit-remaining'));
  };
  await until(async () => (await left(b)) === 1, 'b has heard of four, and its own request is one more');
  const answers: (number | undefined)[] = [];
  for (let i = 0; i < 6; i++) void slow(b).answered.then((status) => answers.push(status));
  await until(() => answers.length === 3, 'b admits a half of six');
  assert.deepEqual(answers, [429, 429, 429]);
  for (const { end } of held) end();
  await until(async () => (await left(b)) === 2, 'those of a have ended');
});
