// The inventory of embedders over a real socket, in both forms; collections can use what it names.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from '../../kit/server.js';

const { call } = await startTestServer();

test('the admin sees the instances and what a collection gets that names none', async () => {
  const { status, json } = await call('GET', '/v1/admin/embedders');
  assert.deepEqual(
    [status, Object.keys(json).sort()],
    [200, ['count', 'default', 'embedders', 'latency_ms', 'ok', 'request_id']],
  );
  const [builtin] = json.embedders;
  assert.deepEqual(Object.keys(builtin).sort(), ['embed_model', 'embedder_type', 'key', 'vector_key']);
  assert.deepEqual(
    [json.count, json.embedders.length, json.default],
    [1, 1, { vector_key: builtin.vector_key, instance_keys: [builtin.key] }],
  );
  const { json: made } = await call('POST', '/v1/collections/acme/plain');
  assert.deepEqual([made.embedder_type, made.embed_model], [builtin.embedder_type, builtin.embed_model]);
  assert.equal((await call('GET', '/v1/collections/acme/plain/detail')).json.vector_space_key, json.default.vector_key);
  for (const [i, embedder] of [builtin.key, builtin.vector_key].entries())
    assert.equal((await call('POST', `/v1/collections/acme/s${i}`, { embedder })).status, 201, embedder);
});

test('a tenant sees the same under its name, also before it has a collection', async () => {
  const { json: admin } = await call('GET', '/v1/admin/embedders');
  const { status, json } = await call('GET', '/v1/embedders/nobody-yet');
  assert.deepEqual(
    [status, json.tenant, json.embedders, json.default, json.count],
    [200, 'nobody-yet', admin.embedders, admin.default, 1],
  );
  const bad = await call('GET', '/v1/embedders/-bad');
  assert.deepEqual([bad.status, bad.json.code], [422, 'invalid_tenant_name']);
});
