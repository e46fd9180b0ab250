// The log lines of requests, as an operator reads them: on standard error of a server in a separate process.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spawnServe, untilReady } from '../../kit/process.js';
import { tempDirectory } from '../../kit/temp.js';

type Line = Record<string, any>;

/** The log lines with the given messages, after `requests` were made and the server has stopped. */
async function linesOf(env: Record<string, string>, requests: (url: string) => Promise<unknown>): Promise<Line[]> {
  const server = spawnServe({ SHEAF_DATA_DIR: tempDirectory(), ...env });
  await requests(await untilReady(server));
  server.child.kill('SIGTERM');
  assert.equal(await server.ended, 0);
  const lines = server
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Line);
  return lines.filter(({ msg }) => msg === 'request' || msg === 'slow request');
}

const searches = async (url: string, count: number): Promise<void> => {
  await fetch(`${url}/v1/collections/acme/docs/documents`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ docid: 'a', text: 'wind and waves' }),
  });
  for (let n = 0; n < count; n++)
    await fetch(`${url}/v1/collections/acme/docs/search?q=secret+words`, {
      headers: { 'x-request-id': `search-${n}` },
    });
};
const SEARCH = '/v1/collections/{tenant}/{name}/search';

test('by default a request has no line', async () => {
  assert.deepEqual(await linesOf({ SHEAF_LOG__SLOW_MS: '0' }, (url) => searches(url, 20)), []);
});

test('a share of the requests of a front thread has a line each, evenly', async () => {
  const env = { SHEAF_LOG__SLOW_MS: '0', SHEAF_LOG__REQUEST_SHARE: '0.25', SHEAF_SERVER__THREADS: '1' };
  const lines = await linesOf(env, (url) => searches(url, 40));
  const ids = lines
    .filter(({ route }) => route === SEARCH)
    .map(({ requestId }) => Number(/\d+$/.exec(requestId as string)?.[0]));
  assert.equal(ids.length, 10);
  assert.deepEqual([...new Set(ids.slice(1).map((id, i) => id - (ids[i] as number)))], [4]);
});

test('a slow request always has one, with its id and its phases, and without what was searched for', async () => {
  const lines = await linesOf({ SHEAF_LOG__SLOW_MS: '0.001' }, (url) => searches(url, 3));
  // Each front thread has lines of its own, and the lines of two threads come in any order.
  const slow = lines
    .filter(({ route }) => route === SEARCH)
    .sort((a, b) => (a.requestId as string).localeCompare(b.requestId as string));
  assert.deepEqual(
    slow.map(({ requestId, level, msg }) => [requestId, level, msg]),
    [0, 1, 2].map((n) => [`search-${n}`, 40, 'slow request']),
  );
  for (const { phases, status, method, tenant, actor, result, latencyMs } of slow) {
    assert.deepEqual([status, method, tenant, actor, result], [200, 'GET', 'acme', 'anonymous', 'answered']);
    assert.ok(phases.search_ms >= 0 && phases.hydrate_ms >= 0 && latencyMs > 0);
  }
  const [ingest] = lines.filter(({ status }) => status === 201);
  assert.ok(ingest?.phases.store_ms > 0);
  assert.doesNotMatch(JSON.stringify(lines), /secret|wind/);
});

test('a stream of events is not slow, however long it is followed', async () => {
  const lines = await linesOf({ SHEAF_LOG__SLOW_MS: '1' }, async (url) => {
    await searches(url, 0);
    const leaving = new AbortController();
    const following = await fetch(`${url}/v1/collections/acme/docs/events`, { signal: leaving.signal });
    setTimeout(() => leaving.abort(), 300);
    await following.text().catch(() => undefined);
  });
  assert.deepEqual(
    lines.filter(({ route }) => /events$/.test(route)),
    [],
  );
});

test('an error has its code', async () => {
  const lines = await linesOf({ SHEAF_LOG__REQUEST_SHARE: '1' }, (url) =>
    fetch(`${url}/v1/collections/acme/none/documents/x`),
  );
  assert.deepEqual(
    lines.filter(({ status }) => status === 404).map(({ code }) => code),
    ['document_not_found'],
  );
});
