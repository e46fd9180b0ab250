// Tenants and keys that were created at run time are there after the process was killed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spawnServe, untilReady } from '../../kit/process.js';
import { tempDirectory } from '../../kit/temp.js';

test('after a kill tenants, quotas and keys are there; what was revoked or deleted is not', async () => {
  const dataDir = tempDirectory();
  const env = {
    SHEAF_AUTH__MODE: 'static',
    SHEAF_AUTH__ADMIN_KEY: 'root',
    SHEAF_DATA_DIR: dataDir,
    SHEAF_STORAGE__PARTITIONS: '2',
  };
  const first = spawnServe(env);
  const call = async (
    url: string,
    method: string,
    path: string,
    body?: unknown,
    key = 'root',
  ): Promise<{ status: number; json: Record<string, any> }> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, json: (await response.json()) as Record<string, any> };
  };
  let url = await untilReady(first);
  const { key } = (
    await call(url, 'POST', '/v1/admin/tenants', { tenant: 'kept', max_collections: 1, display_name: 'Kept' })
  ).json;
  const { key: gone, key_id: goneId } = (await call(url, 'POST', '/v1/admin/tenants/kept/keys', { label: 'gone' }))
    .json;
  const { key: reader } = (
    await call(url, 'POST', '/v1/admin/tenants/kept/keys', {
      label: 'reader',
      scopes: ['search'],
      collections: ['c'],
      filters: { a: [1, 2], b: { $gt: 2 } },
    })
  ).json;
  const { key: dead } = (await call(url, 'POST', '/v1/admin/tenants', { tenant: 'dead' })).json;
  await call(url, 'DELETE', '/v1/admin/tenants/dead');
  await call(url, 'DELETE', `/v1/admin/tenants/kept/keys/${goneId}`);
  const before = [
    (await call(url, 'GET', '/v1/admin/tenants/kept')).json.limits,
    (await call(url, 'GET', '/v1/admin/tenants/kept/keys')).json.keys,
  ];
  first.child.kill('SIGKILL');
  await first.ended;
  const second = spawnServe(env);
  url = await untilReady(second);
  assert.deepEqual(
    [
      (await call(url, 'GET', '/v1/admin/tenants/kept')).json.limits,
      (await call(url, 'GET', '/v1/admin/tenants/kept/keys')).json.keys,
    ],
    before,
  );
  const statuses = await Promise.all(
    [key, gone, dead].map(
      async (each: string) => (await call(url, 'GET', '/v1/collections/kept', undefined, each)).status,
    ),
  );
  assert.deepEqual(statuses, [200, 401, 401]);
  assert.equal((await call(url, 'GET', '/v1/collections/kept/c/search?q=x', undefined, reader)).status, 200);
  assert.equal((await call(url, 'GET', '/v1/collections/kept/c/documents', undefined, reader)).status, 403);
  assert.deepEqual((await call(url, 'GET', '/v1/admin/tenants')).json.tenants, ['kept']);
  second.child.kill('SIGTERM');
  assert.equal(await second.ended, 0);
});
