// Collections over a real socket: every field and status of the specification for create, list, detail and delete.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from '../../kit/server.js';

const server = await startTestServer();
const { call } = server;

function assertCommon(json: Record<string, unknown>): void {
  assert.equal(json.ok, true);
  assert.equal(typeof json.latency_ms, 'number');
  assert.match(json.request_id as string, /^[0-9a-f-]{36}$/);
}

function assertError(
  answer: { status: number; json: Record<string, any>; headers: Headers },
  status: number,
  code: string,
): void {
  assert.equal(answer.status, status, JSON.stringify(answer.json));
  assert.equal(answer.json.ok, false);
  assert.equal(answer.json.code, code);
  assert.ok((answer.json.error as string).length > 3);
  assert.equal(answer.headers.get('x-request-id'), answer.json.request_id);
  if (status === 422) {
    for (const entry of answer.json.detail)
      assert.deepEqual([Array.isArray(entry.loc), typeof entry.msg, typeof entry.type], [true, 'string', 'string']);
    assert.deepEqual(answer.json.details.errors, answer.json.detail);
  }
}

test('create without a body takes the defaults of the instance', async () => {
  const { status, json } = await call('POST', '/v1/collections/acme/plain');
  assert.equal(status, 201);
  assertCommon(json);
  const { ok: _ok, latency_ms: _latency, request_id: _id, ...record } = json;
  assert.deepEqual(record, {
    collection: 'plain',
    name: 'plain',
    tenant: 'acme',
    display_name: 'plain',
    embed_model: 'static-minilm-512',
    embedder_type: 'builtin',
    embedder_config: {},
    partitions: 3,
    chunking: { strategy: 'fixed', size: 1000, overlap: 200 },
    priority_key: 'prio_boost',
    search_mode: 'vector',
    language: 'english',
    precision: 'int16',
  });
});

test('create with options, and null for absent ones', async () => {
  const body = {
    display_name: '  My docs ',
    embedder: 'builtin',
    chunking: { strategy: 'fixed', size: 100, overlap: null },
    priority_key: 'rank',
    search_mode: 'vector',
    language: 'german',
    precision: 'int8',
    embed_model: null,
  };
  const { status, json } = await call('POST', '/v1/collections/acme/options', body);
  assert.equal(status, 201, JSON.stringify(json));
  assert.deepEqual(
    [json.display_name, json.chunking, json.priority_key, json.language, json.precision],
    ['My docs', { strategy: 'fixed', size: 100, overlap: 25 }, 'rank', 'german', 'int8'],
  );
  const { json: detail } = await call('GET', '/v1/collections/acme/options/detail');
  const { json: listing } = await call('GET', '/v1/collections/acme');
  assert.deepEqual(
    [
      detail.language,
      detail.precision,
      listing.collections.find(({ name }: { name: string }) => name === 'options').language,
    ],
    ['german', 'int8', 'german'],
  );
});

test('creating it again with the same or no options is 201, with others a conflict of its own code', async () => {
  const path = '/v1/collections/acme/again';
  await call('POST', path, { chunking: { size: 400, overlap: 100 }, display_name: 'One' });
  assert.equal((await call('POST', path)).status, 201);
  assert.equal((await call('POST', path, { chunking: { size: 400, overlap: 100 } })).status, 201);
  const conflict = await call('POST', path, { chunking: { size: 401 } });
  assertError(conflict, 400, 'chunking_conflict');
  assert.equal(conflict.json.error_type, 'conflict', 'by the code, not by the status');
  assertError(await call('POST', path, { priority_key: 'other' }), 400, 'priority_key_conflict');
  assertError(
    await call('POST', path, { embedder_type: 'identity', embedder_config: { dim: 3 } }),
    400,
    'invalid_embedder_config',
  );
  assertError(await call('POST', path, { display_name: 'Two' }), 400, 'collection_settings_conflict');
  assertError(await call('POST', path, { language: 'none' }), 400, 'collection_settings_conflict');
  assertError(await call('POST', path, { precision: 'int8' }), 400, 'collection_settings_conflict');
  assert.equal((await call('POST', path, { language: 'english', precision: 'int16' })).status, 201);
});

test('many at once create one collection', async () => {
  const answers = await Promise.all(Array.from({ length: 20 }, () => call('POST', '/v1/collections/acme/race')));
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]));
  const { json } = await call('GET', '/v1/collections/acme');
  assert.equal(json.collections.filter(({ name }: { name: string }) => name === 'race').length, 1);
});

const BAD_OPTIONS: [string, unknown, number, string][] = [
  ['malformed JSON', '{', 400, 'invalid_json'],
  ['a list', [], 422, 'validation_error'],
  ['an unknown field', { sharding: 1 }, 422, 'validation_error'],
  ['an unknown field of chunking', { chunking: { window: 1 } }, 422, 'validation_error'],
  ['a chunk size of the wrong type', { chunking: { size: '100' } }, 422, 'validation_error'],
  ['no such strategy', { chunking: { strategy: 'tokens' } }, 422, 'validation_error'],
  ['a chunk size out of bounds', { chunking: { size: 15 } }, 400, 'invalid_chunking'],
  ['an overlap over a quarter', { chunking: { size: 100, overlap: 26 } }, 400, 'invalid_chunking'],
  [
    'an overlap over a quarter, by sentences',
    { chunking: { strategy: 'sentence', size: 100, overlap: 26 } },
    400,
    'invalid_chunking',
  ],
  ['none with a size', { chunking: { strategy: 'none', size: 100 } }, 400, 'invalid_chunking'],
  ['an empty display name', { display_name: '  ' }, 400, 'invalid_display_name'],
  ['a display name with a line break', { display_name: 'a\nb' }, 400, 'invalid_display_name'],
  ['an unknown embedder', { embedder: 'nope' }, 400, 'invalid_embedder_config'],
  ['a selector with detailed fields', { embedder: 'builtin', embed_model: 'x' }, 422, 'validation_error'],
  ['identity without dim', { embedder_type: 'identity' }, 400, 'invalid_embedder_config'],
  ['no such language', { language: 'klingon' }, 422, 'validation_error'],
  ['no such precision', { precision: 'int4' }, 422, 'validation_error'],
  ['no such search mode', { search_mode: 'magic' }, 400, 'invalid_search_mode'],
];
for (const [what, body, status, code] of BAD_OPTIONS) {
  test(`create with ${what} is ${status} ${code} and makes nothing`, async () => {
    assertError(await call('POST', '/v1/collections/acme/bad', body), status, code);
    assertError(await call('GET', '/v1/collections/acme/bad/detail'), 404, 'collection_not_found');
  });
}

test('a 422 names the field', async () => {
  const { json } = await call('POST', '/v1/collections/acme/bad', { chunking: { size: 'x' }, sharding: 1 });
  assert.deepEqual(
    json.detail.map(({ loc, type }: any) => [loc, type]),
    [
      [['body', 'chunking', 'size'], 'int_type'],
      [['body', 'sharding'], 'extra_forbidden'],
    ],
  );
});

const BAD_SLUGS = ['.hidden', '-a', 'a b', 'ä', `${'x'.repeat(129)}`, 'a/b'];
test('bad slugs are refused: 400 where the specification lists it, else 422', async () => {
  for (const slug of BAD_SLUGS) {
    const raw = encodeURIComponent(slug);
    assertError(await call('POST', `/v1/collections/acme/${raw}`), 400, 'invalid_collection_name');
    assertError(await call('POST', `/v1/collections/${raw}/docs`), 400, 'invalid_tenant_name');
    assertError(await call('GET', `/v1/collections/acme/${raw}/detail`), 422, 'invalid_collection_name');
    assertError(await call('GET', `/v1/collections/${raw}`), 422, 'invalid_tenant_name');
  }
});

test('detail has settings and counts', async () => {
  await call('POST', '/v1/collections/acme/counted/documents', { docid: 'A', text: 'one two three' });
  const { status, json } = await call('GET', '/v1/collections/acme/counted/detail');
  assert.equal(status, 200);
  assertCommon(json);
  assert.deepEqual(
    [json.tenant, json.name, json.doc_count, json.chunk_count, json.service_version, json.schema_version],
    ['acme', 'counted', 1, 1, '0.9.7', 1],
  );
  assert.match(json.created_at, /^\d{4}-\d\d-\d\dT.*Z$/);
  assert.equal(json.vector_space_key, 'builtin:static-minilm-512:dim=512');
  assert.deepEqual(
    ['id', 'dim', 'generation'].filter((field) => field in json),
    [],
  );
});

test('list has a summary of each collection, and only of this tenant', async () => {
  await call('POST', '/v1/collections/solo/b');
  await call('POST', '/v1/collections/solo/a', { embedder_type: 'identity', embedder_config: { dim: 3 } });
  const { json } = await call('GET', '/v1/collections/solo');
  assertCommon(json);
  assert.deepEqual([json.tenant, json.count], ['solo', 2]);
  assert.deepEqual(json.collections, [
    {
      name: 'a',
      display_name: 'a',
      embedder_label: 'identity:',
      vector_space_key: 'identity::dim=3',
      language: 'english',
    },
    {
      name: 'b',
      display_name: 'b',
      embedder_label: 'builtin:static-minilm-512',
      vector_space_key: 'builtin:static-minilm-512:dim=512',
      language: 'english',
    },
  ]);
  assert.deepEqual((await call('GET', '/v1/collections/nobody')).json.collections, []);
});

test('delete removes it with every document; a new one of the name is empty', async () => {
  const path = '/v1/collections/acme/gone';
  await call('POST', `${path}/documents`, { docid: 'A', text: 'secret plans' });
  const { status, json } = await call('DELETE', path);
  assert.equal(status, 200);
  assertCommon(json);
  assert.deepEqual([json.tenant, json.deleted], ['acme', 'gone']);
  assertError(await call('DELETE', path), 404, 'collection_not_found');
  assertError(await call('GET', `${path}/documents/A`), 404, 'document_not_found');
  assert.deepEqual((await call('GET', `${path}/search?q=plans`)).json.matches, []);
  await call('POST', path);
  assert.deepEqual((await call('GET', `${path}/search?q=plans`)).json.matches, []);
  assert.equal((await call('GET', `${path}/detail`)).json.doc_count, 0);
});

test('update changes the label only', async () => {
  await call('POST', '/v1/collections/acme/label');
  const { status, json } = await call('PATCH', '/v1/collections/acme/label', { display_name: ' New label ' });
  assert.equal(status, 200);
  assertCommon(json);
  assert.deepEqual([json.tenant, json.name, json.display_name], ['acme', 'label', 'New label']);
  assert.equal((await call('GET', '/v1/collections/acme/label/detail')).json.display_name, 'New label');
  assertError(await call('PATCH', '/v1/collections/acme/label', { display_name: '' }), 400, 'invalid_display_name');
  assertError(await call('PATCH', '/v1/collections/acme/label', { priority_key: 'x' }), 422, 'validation_error');
  assertError(await call('PATCH', '/v1/collections/acme/label', '{'), 400, 'invalid_json');
  assertError(await call('PATCH', '/v1/collections/acme/none', { display_name: 'x' }), 404, 'collection_not_found');
});

for (const prefix of ['/v1', '/v1/admin']) {
  test(`move below ${prefix} renames; documents come along`, async () => {
    const names = [`from${prefix.length}`, `to${prefix.length}`] as const;
    const [from, to] = names.map((name) => `/v1/collections/acme/${name}`) as [string, string];
    await call('POST', `${from}/documents`, { docid: 'A', text: 'moving along' });
    const move = (body: unknown): ReturnType<typeof call> =>
      call('POST', `${prefix}/collections/acme/${names[0]}/move`, body);
    assertError(await move({ new_name: names[0] }), 400, 'move_invalid');
    assertError(await move({ new_name: 'a/b' }), 400, 'invalid_collection_name');
    assertError(await move({}), 422, 'validation_error');
    assertError(await move({ new_name: 'plain' }), 409, 'collection_conflict');
    const { status, json } = await move({ new_name: names[1] });
    assert.equal(status, 200, JSON.stringify(json));
    assertCommon(json);
    assert.deepEqual([json.tenant, json.old_name, json.new_name], ['acme', ...names]);
    assertError(await call('GET', `${from}/detail`), 404, 'collection_not_found');
    assertError(await move({ new_name: 'elsewhere' }), 404, 'collection_not_found');
    const [hit] = (await call('GET', `${to}/search?q=moving`)).json.matches;
    assert.deepEqual([hit.collection, hit.id], [names[1], 'A::chunk_0']);
    await call('POST', from);
    assert.equal((await call('GET', `${from}/detail`)).json.doc_count, 0);
  });
}

test('of renames and deletes at the same time one wins, and the others find nothing', async () => {
  const named = async (name: string): Promise<string[]> =>
    (await call('GET', '/v1/collections/acme')).json.collections
      .map((each: { name: string }) => each.name)
      .filter((each: string) => each.startsWith(name));
  for (let round = 0; round < 5; round++) {
    const name = `busy${round}`;
    await call('POST', `/v1/collections/acme/${name}`);
    const move = (to: string): ReturnType<typeof call> =>
      call('POST', `/v1/collections/acme/${name}/move`, { new_name: to });
    const answers = await Promise.all([
      move(`${name}b`),
      move(`${name}c`),
      call('DELETE', `/v1/collections/acme/${name}`),
      move(`${name}d`),
    ]);
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 404, 404, 404]);
    const winner = answers.find(({ status }) => status === 200)?.json;
    assert.deepEqual(await named(name), winner?.new_name ? [winner.new_name] : []);
  }
});

test('the admin list has every tenant with collections', async () => {
  const { status, json } = await call('GET', '/v1/admin/tenants');
  assert.equal(status, 200);
  assertCommon(json);
  assert.deepEqual(json.tenants, ['acme', 'solo']);
  assert.equal(json.count, 2);
});

test('slugs differ by case', async () => {
  await call('POST', '/v1/collections/acme/Case');
  assertError(await call('GET', '/v1/collections/acme/case/detail'), 404, 'collection_not_found');
});

test('no internal error was logged', () => {
  assert.deepEqual(server.faults, []);
});
