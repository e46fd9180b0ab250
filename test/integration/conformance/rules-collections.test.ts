// What the prose of the specification and contract.md say about collections, a named test for each sentence.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refused, startTestServer } from '../../kit/server.js';

const { call } = await startTestServer({ SHEAF_SEARCH__MODES: '["vector", "boost"]' });
const base = '/v1/collections/rules';
const detail = async (name: string): Promise<Record<string, any>> => (await call('GET', `${base}/${name}/detail`)).json;

test('what is not said at creation has the defaults: display name the slug, prio_boost, vector, fixed 1000/200', async () => {
  const { status, json } = await call('POST', `${base}/plain`);
  assert.deepEqual(
    [status, json.collection, json.name, json.display_name, json.priority_key, json.search_mode],
    [201, 'plain', 'plain', 'plain', 'prio_boost', 'vector'],
  );
  assert.deepEqual(json.chunking, { strategy: 'fixed', size: 1000, overlap: 200 });
});

test('what is said at creation is in the answer and in the detail', async () => {
  const options = {
    display_name: 'Books',
    chunking: { strategy: 'fixed', size: 400, overlap: 100 },
    priority_key: 'weight',
    search_mode: 'boost',
  };
  const { json } = await call('POST', `${base}/said`, options);
  const found = await detail('said');
  for (const [name, value] of Object.entries(options))
    assert.deepEqual([json[name], found[name]], [value, value], name);
});

test('the detail has the version of the service, the schema version, the vector space and the counts', async () => {
  await call('POST', `${base}/counted/documents`, { docid: 'A', text: 'x'.repeat(1500) });
  const found = await detail('counted');
  assert.deepEqual([found.doc_count, found.chunk_count, found.service_version], [1, 2, '0.9.7']);
  assert.ok(
    Number.isInteger(found.schema_version) &&
      found.vector_space_key.startsWith(`${found.embedder_type}:${found.embed_model}:`),
  );
});

test('a size without an overlap gets one of at most a quarter, at most 200', async () => {
  assert.equal((await call('POST', `${base}/quarter`, { chunking: { size: 100 } })).json.chunking.overlap, 25);
  assert.equal((await call('POST', `${base}/capped`, { chunking: { size: 4000 } })).json.chunking.overlap, 200);
});

test('chunking outside the bounds is 400 invalid_chunking: size 16 to 32768, overlap a quarter, none with a size', async () => {
  for (const chunking of [
    { size: 15 },
    { size: 32_769 },
    { size: 100, overlap: 26 },
    { strategy: 'none', size: 100 },
    { strategy: 'none', overlap: 0 },
  ]) {
    await refused(call('POST', `${base}/bounds`, { chunking }), 400, 'invalid_chunking');
  }
});

test('chunking takes no other fields and no other types: 422', async () => {
  for (const chunking of [{ size: 100, unit: 'tokens' }, { size: '100' }, { strategy: 'sentences' }, []]) {
    await refused(call('POST', `${base}/shapes`, { chunking }), 422, 'validation_error');
  }
});

test('the embedder shorthand finds the space by type, by type:model and by key; it excludes the detailed fields', async () => {
  const { embedder_type: type, embed_model: model, vector_space_key: key } = await detail('counted');
  for (const [i, embedder] of [type, `${type}:${model}`, key].entries()) {
    assert.equal((await call('POST', `${base}/short-${i}`, { embedder })).json.embed_model, model, embedder);
  }
  await refused(call('POST', `${base}/both`, { embedder: type, embedder_type: type }), 422, 'validation_error');
  await refused(call('POST', `${base}/unknown`, { embedder: 'no-such-embedder' }), 400, 'invalid_embedder_config');
});

test('the search mode has to be one that the instance serves', async () => {
  const { status, json } = await call('POST', `${base}/mode`, { search_mode: 'hybrid' });
  assert.deepEqual([status, json.code], [400, 'search_mode_disabled']);
  assert.equal((await call('POST', `${base}/mode`, { search_mode: 'nearest' })).json.code, 'invalid_search_mode');
});

test('creating it again with the same or no options is 201 again, with others 400', async () => {
  await call('POST', `${base}/again`, { chunking: { size: 500 }, priority_key: 'p' });
  assert.equal((await call('POST', `${base}/again`)).status, 201);
  assert.equal((await call('POST', `${base}/again`, { chunking: { size: 500 } })).status, 201);
  await refused(call('POST', `${base}/again`, { chunking: { size: 600 } }), 400, 'chunking_conflict');
  await refused(call('POST', `${base}/again`, { priority_key: 'other' }), 400, 'priority_key_conflict');
  await refused(call('POST', `${base}/again`, { search_mode: 'boost' }), 400, 'search_mode_conflict');
});

test('PATCH changes the display name only, trimmed', async () => {
  await call('POST', `${base}/patched`, { priority_key: 'kept' });
  const before = await detail('patched');
  const { json } = await call('PATCH', `${base}/patched`, { display_name: '  Näme  ' });
  assert.deepEqual([json.tenant, json.name, json.display_name], ['rules', 'patched', 'Näme']);
  await call('PATCH', `${base}/patched`, {
    display_name: 'Näme',
    priority_key: 'changed',
    search_mode: 'boost',
    name: 'other',
  });
  const after = await detail('patched');
  assert.deepEqual(
    { ...after, latency_ms: 0, request_id: '' },
    { ...before, display_name: 'Näme', latency_ms: 0, request_id: '' },
  );
});

test('a display name has 1 to 120 characters and no control characters', async () => {
  for (const name of ['', '   ', 'x'.repeat(121), 'a\u0007b'])
    await refused(call('PATCH', `${base}/plain`, { display_name: name }), 400, 'invalid_display_name');
  assert.equal((await call('PATCH', `${base}/plain`, { display_name: '😀'.repeat(120) })).status, 200);
});

test('a rename moves the URL and everything below it; the old one is 404 and free again', async () => {
  await call('POST', `${base}/before/documents`, { docid: 'A', text: 'moves along' });
  const { json } = await call('POST', `${base}/before/move`, { new_name: 'after' });
  assert.deepEqual([json.tenant, json.old_name, json.new_name], ['rules', 'before', 'after']);
  await refused(call('GET', `${base}/before/detail`), 404, 'collection_not_found');
  assert.equal((await call('GET', `${base}/after/documents/A`)).json.collection, 'after');
  assert.equal((await call('GET', `${base}/after/search?q=moves`)).json.matches[0].collection, 'after');
  assert.equal((await call('POST', `${base}/before`)).status, 201);
});

test('a rename to itself is move_invalid, onto another collection_conflict, from nothing collection_not_found', async () => {
  await refused(call('POST', `${base}/plain/move`, { new_name: 'plain' }), 400, 'move_invalid');
  await refused(call('POST', `${base}/plain/move`, { new_name: 'said' }), 409, 'collection_conflict');
  await refused(call('POST', `${base}/nothing/move`, { new_name: 'something' }), 404, 'collection_not_found');
});

test('slugs are checked in paths and in bodies, and keep their case', async () => {
  for (const name of ['-x', '.x', 'a b', 'ä', 'x'.repeat(129)]) {
    await refused(call('POST', `${base}/${encodeURIComponent(name)}`), 400, 'invalid_collection_name');
    await refused(call('POST', `${base}/plain/move`, { new_name: name }), 400, 'invalid_collection_name');
    await refused(call('POST', `/v1/collections/${encodeURIComponent(name)}/plain`), 400, 'invalid_tenant_name');
    await refused(call('GET', `/v1/collections/${encodeURIComponent(name)}`), 422, 'invalid_tenant_name');
  }
  await call('POST', `${base}/Case`);
  assert.equal((await call('GET', `${base}/case/detail`)).status, 404);
});

test('a listing has one entry a collection, with the label of its embedder; tenants are listed for the admin', async () => {
  await call('POST', '/v1/collections/listed/one', { display_name: 'One' });
  await call('POST', '/v1/collections/listed/two', { embedder_type: 'identity', embedder_config: { dim: 4 } });
  const { json } = await call('GET', '/v1/collections/listed');
  assert.deepEqual(
    [json.count, json.collections.map(({ name, display_name }: Record<string, string>) => [name, display_name])],
    [
      2,
      [
        ['one', 'One'],
        ['two', 'two'],
      ],
    ],
  );
  const { embedder_type: type, embed_model: model } = await detail('counted');
  assert.equal(json.collections[0].embedder_label, `${type}:${model}`);
  const tenants = (await call('GET', '/v1/admin/tenants')).json;
  assert.ok(
    tenants.tenants.includes('listed') && tenants.tenants.includes('rules') && tenants.count === tenants.tenants.length,
  );
});

test('a deleted collection is gone with its documents', async () => {
  await call('POST', `${base}/doomed/documents`, { docid: 'A', text: 'soon gone' });
  assert.equal((await call('DELETE', `${base}/doomed`)).json.deleted, 'doomed');
  await refused(call('DELETE', `${base}/doomed`), 404, 'collection_not_found');
  await call('POST', `${base}/doomed`);
  assert.equal((await call('GET', `${base}/doomed/detail`)).json.doc_count, 0);
});

test('malformed JSON is 400 invalid_json where the specification lists 400', async () => {
  await refused(call('POST', `${base}/json`, '{"display_name":'), 400, 'invalid_json');
  await refused(call('PATCH', `${base}/plain`, 'display_name=x'), 400, 'invalid_json');
});
