// Searches of the staged space: the one that a reindex builds, and after the switch the one that was live before.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BASE, TO_FAR, ingest, jobUntil, start, startFar, startPaused, status, textOf } from '../../kit/reindex.js';
import { type TestServer, refused, startTestServer } from '../../kit/server.js';

const SEARCH = `${BASE}/search`;
const COUNT = 12;
const KEPT = { ...TO_FAR, keep_previous_seconds: 600 };

async function scores({ call }: TestServer, body: object): Promise<Map<string, number>> {
  const { status: code, json } = await call('POST', SEARCH, { q: textOf(3), k: COUNT, ...body });
  assert.equal(code, 200, JSON.stringify(json));
  return new Map(
    (json.matches as { id: string; score: number }[]).map(({ id, score }) => [id, Math.round(score * 1e5) / 1e5]),
  );
}

const total = async ({ call }: TestServer): Promise<number> =>
  ((await call('GET', `${BASE}/queries`)).json.queries as unknown[]).length;

for (const threads of ['0', '2'])
  test(`the staged space is searched before and after the switch, and not logged; front threads: ${threads}`, async (t) => {
    const { gate, env } = await startFar(t);
    const server = await startTestServer({ ...env, SHEAF_SERVER__THREADS: threads });
    await ingest(server, COUNT);
    const staged = { space: 'staged' };
    await refused(server.call('POST', SEARCH, { q: 'x', ...staged }), 422, 'validation_error');
    const old = await scores(server, {});
    const { job_id: paused } = await startPaused({ server, gate }, KEPT);
    gate.open();
    assert.ok((await scores(server, staged)).size < COUNT);
    await server.call('POST', `/v1/admin/reindex/${paused}/resume`);
    await jobUntil(server, paused, status('succeeded'));
    const fresh = await scores(server, {});
    assert.equal(fresh.size, COUNT);
    assert.notDeepEqual(fresh, old);
    // What was live before is the staged space now, and writes go there too.
    assert.deepEqual(await scores(server, staged), old);
    for (const mode of ['boost', 'hybrid']) {
      const found = await scores(server, { mode, ...staged });
      assert.equal(found.size, COUNT);
      assert.notDeepEqual(found, await scores(server, { mode }));
    }
    const logged = await total(server);
    await scores(server, staged);
    await scores(server, { space: 'live' });
    assert.equal(await total(server), logged + 1);
    await server.call('DELETE', `${BASE}/documents/d3`);
    assert.equal((await scores(server, staged)).size, COUNT - 1);
    assert.deepEqual(server.faults, []);
  });

test('what has no staged space refuses it', async () => {
  const { call } = await startTestServer({ SHEAF_COMMON__ENABLED: 'true' });
  await call('POST', `${BASE}/documents`, { docid: 'a', text: 'a text' });
  for (const [path, body] of [
    [SEARCH, {}],
    ['/v1/collections/acme/none/search', {}],
    ['/v1/search', {}],
    ['/v1/search/acme', { collections: ['docs'] }],
    [SEARCH, { space: 'other' }],
  ] as const)
    await refused(call('POST', path, { q: 'x', space: 'staged', ...body }), 422, 'validation_error');
  const { json } = await call('POST', `${BASE}/search:batch`, {
    searches: [{ q: 'text' }, { q: 'x', space: 'staged' }],
  });
  assert.deepEqual(
    (json.results as { ok?: boolean; code?: string }[]).map(({ code }) => code),
    [undefined, 'validation_error'],
  );
});

test('the space that was rolled back from is not kept', async (t) => {
  const { env } = await startFar(t);
  const server = await startTestServer(env);
  await ingest(server, COUNT);
  const { json } = await start(server, KEPT);
  await jobUntil(server, json.job_id, status('succeeded'));
  const { json: back } = await server.call('POST', `${BASE}/rollback`);
  assert.ok(back.ok, JSON.stringify(back));
  await refused(server.call('POST', SEARCH, { q: 'x', space: 'staged' }), 422, 'validation_error');
});
