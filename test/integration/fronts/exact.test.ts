// Changes that an admin makes hold on every front thread from the moment the answer has arrived, and what front threads
// count together is exact.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { FRONT_CELLS } from '../../../src/pool/front-messages.js';
import { type Connection, type FrontAnswer, connections, frontPoolOf } from '../../kit/fronts.js';
import { startTestServer } from '../../kit/server.js';

const SEED = 2401;
const FRONTS = 3;
const CHANGES = 200;
const root = { authorization: 'Bearer root' };

const server = await startTestServer({
  SHEAF_SERVER__THREADS: String(FRONTS),
  SHEAF_AUTH__MODE: 'static',
  SHEAF_AUTH__ADMIN_KEY: 'root',
});
const admin = async (method: string, path: string, body?: unknown): Promise<Record<string, any>> => {
  const { status, json } = await server.call(method, path, body, root);
  assert.ok(status < 300, `${method} ${path}: ${status} ${JSON.stringify(json)}`);
  return json;
};
const all = await connections(server, 2 * FRONTS);
/** One request on each connection, all at the same time. */
const everywhere = (method: string, path: string, body?: unknown, key = 'root'): Promise<FrontAnswer[]> =>
  Promise.all(all.map((connection) => connection.call(method, path, body, { authorization: `Bearer ${key}` })));
const statusesOf = (answers: FrontAnswer[]): number[] => [...new Set(answers.map(({ status }) => status))];
const collection = (name: string): string => `/v1/collections/acme/${name}`;

await admin('POST', '/v1/admin/tenants', { tenant: 'acme' });
await admin('POST', `${collection('steady')}/documents`, { docid: 'a', text: 'the captain' });

test('connections reach every front thread', () => {
  const taken = frontPoolOf(server)['fronts'].map(({ cells }) => Atomics.load(cells, FRONT_CELLS.sockets));
  assert.ok(
    taken.every((sockets) => sockets >= 2),
    String(taken),
  );
});

/** Searches until it is stopped; each must be answered with the hit. */
async function searchOn(connection: Connection, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const { status, json } = await connection.call('POST', `${collection('steady')}/search`, { q: 'captain' }, root);
    assert.deepEqual([status, json.matches?.length], [200, 1]);
  }
}

test('keys and collections: no wrong answer after a change was answered', async () => {
  const prng = createPrng(SEED);
  const keys = new Map<string, string>();
  const names = new Map<string, string>();
  let isOver = false;
  let made = 0;
  const searching = (await connections(server, FRONTS, root)).map((connection) => searchOn(connection, () => isOver));
  const pick = (from: Map<string, string>): string => [...from.keys()][prng.int(from.size)] as string;
  const changes: Record<string, () => Promise<void>> = {
    'create a key': async () => {
      const { key_id: id, key } = await admin('POST', '/v1/admin/tenants/acme/keys', { scopes: ['search'] });
      keys.set(id as string, key as string);
      const answers = await everywhere('GET', '/v1/collections/acme', undefined, key as string);
      assert.deepEqual(statusesOf(answers), [200], `seed ${SEED}`);
    },
    'revoke a key': async () => {
      if (keys.size === 0) return;
      const id = pick(keys);
      const key = keys.get(id) as string;
      keys.delete(id);
      await admin('DELETE', `/v1/admin/tenants/acme/keys/${id}`);
      const answers = await everywhere('POST', `${collection('steady')}/search`, { q: 'captain' }, key);
      assert.deepEqual(statusesOf(answers), [401], `seed ${SEED}`);
    },
    'create a collection': async () => {
      const name = `c${made++}`;
      names.set(name, name);
      await admin('POST', `${collection(name)}/documents`, { docid: name, text: `captain ${name}` });
      await found(name, name);
    },
    'delete a collection': async () => {
      if (names.size === 0) return;
      const name = pick(names);
      names.delete(name);
      await admin('DELETE', collection(name));
      await missing(name);
    },
    'rename a collection': async () => {
      if (names.size === 0) return;
      const name = pick(names);
      const docid = names.get(name) as string;
      const renamed = `r${made++}`;
      names.delete(name);
      names.set(renamed, docid);
      await admin('POST', `${collection(name)}/move`, { new_name: renamed });
      await missing(name);
      await found(renamed, docid);
    },
  };
  const found = async (name: string, docid: string): Promise<void> => {
    for (const { status, json } of await everywhere('POST', `${collection(name)}/search`, { q: 'captain' }))
      assert.deepEqual(
        [status, json.matches?.map((hit: { meta: { docid: string } }) => hit.meta.docid)],
        [200, [docid]],
        `seed ${SEED}`,
      );
  };
  const missing = async (name: string): Promise<void> => {
    // A search of a collection that does not exist finds nothing.
    for (const { status, json } of await everywhere('POST', `${collection(name)}/search`, { q: 'captain' }))
      assert.deepEqual([status, json.matches], [200, []], `seed ${SEED}, ${name}`);
  };
  const kinds = Object.values(changes);
  try {
    for (let change = 0; change < CHANGES; change++) await (kinds[prng.int(kinds.length)] as () => Promise<void>)();
  } finally {
    isOver = true;
  }
  await Promise.all(searching);
});

test('a tenant is limited, and deleted, everywhere at once', async () => {
  const { key } = (await admin('POST', '/v1/admin/tenants', { tenant: 'brief' })) as { key: string };
  const list = (): Promise<FrontAnswer[]> => everywhere('GET', '/v1/collections/brief', undefined, key);
  assert.deepEqual(statusesOf(await list()), [200]);
  await admin('PATCH', '/v1/admin/tenants/brief', { requests_per_second: 0.001, burst: 4 });
  const admitted = [...(await list()), ...(await list())].filter(({ status }) => status === 200).length;
  assert.equal(admitted, 4);
  await admin('PATCH', '/v1/admin/tenants/brief', { requests_per_second: -1 });
  assert.deepEqual(statusesOf(await list()), [200]);
  await admin('DELETE', '/v1/admin/tenants/brief');
  assert.deepEqual(statusesOf(await list()), [401]);
});

test('a search is in the query log of every connection once it is answered', async () => {
  for (let round = 0; round < 30; round++) {
    const q = `captain of round ${round}`;
    const { status } = await (all[round % all.length] as Connection).call(
      'POST',
      `${collection('steady')}/search`,
      { q },
      root,
    );
    assert.equal(status, 200);
    const { json } = await (all[(round + 1) % all.length] as Connection).call(
      'GET',
      `${collection('steady')}/queries`,
      undefined,
      root,
    );
    assert.match(JSON.stringify(json.queries[0]), new RegExp(q), `round ${round}`);
  }
});

test('searches are counted exactly over all front threads, from a reset on', async () => {
  const counted = async (): Promise<number> => {
    const { text } = await server.call('GET', '/metrics', undefined, root);
    const lines = [...text.matchAll(/^sheaf_searches_total(?:\{[^}]*\})? (\d+)$/gm)];
    return lines.reduce((sum, [, count]) => sum + Number(count), 0);
  };
  const before = await counted();
  for (let round = 1; round <= 10; round++) {
    await everywhere('POST', `${collection('steady')}/search`, { q: 'captain' });
    assert.equal(await counted(), before + round * all.length);
  }
  await admin('DELETE', '/v1/admin/metrics');
  await everywhere('POST', `${collection('steady')}/search`, { q: 'captain' });
  assert.equal((await admin('GET', '/health/metrics')).search_total, all.length);
});
