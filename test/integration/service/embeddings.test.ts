// Vectors of texts as OpenAI's clients ask for them: the same as those that searches use, by the embedder that is named,
// in both encodings, for keys of tenants and for the admin.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FAR_DIM, startFar } from '../../kit/reindex.js';
import { refused, startTestServer } from '../../kit/server.js';

const PATH = '/v1/embeddings';

interface Embedded {
  readonly index: number;
  readonly embedding: number[];
}

for (const threads of ['0', '2'])
  test(`the vectors are those of queries, in the order of the texts; front threads: ${threads}`, async () => {
    const server = await startTestServer({ SHEAF_SERVER__THREADS: threads });
    const { call } = server;
    const texts = Array.from({ length: 20 }, (_, i) => `the whale of text ${i}`);
    const { status, json } = await call('POST', PATH, { input: texts, model: 'builtin' });
    assert.equal(status, 200, JSON.stringify(json));
    assert.deepEqual(
      [json.object, json.model, json.usage],
      ['list', 'static-minilm-512', { prompt_tokens: 100, total_tokens: 100 }],
    );
    const data = json.data as Embedded[];
    assert.deepEqual(
      data.map(({ index }) => index),
      [...texts.keys()],
    );
    const { json: one } = await call('POST', PATH, { input: texts[7] });
    assert.deepEqual(one.data, [{ object: 'embedding', index: 0, embedding: data[7]?.embedding }]);
    const { json: packed } = await call('POST', PATH, { input: texts, encoding_format: 'base64', dimensions: 512 });
    for (const { index, embedding } of packed.data as { index: number; embedding: string }[]) {
      const bytes = Buffer.from(embedding, 'base64');
      const numbers = Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i));
      assert.deepEqual(numbers, data[index]?.embedding);
    }
    // A search by the vector finds what a search by the text finds.
    const docs = '/v1/collections/acme/docs';
    await call('POST', `${docs}/documents:batch`, { documents: texts.map((text) => ({ text })) });
    const hits = async (body: object): Promise<[string, number][]> =>
      ((await call('POST', `${docs}/search`, { k: 5, ...body })).json.matches as { id: string; score: number }[]).map(
        ({ id, score }) => [id, Math.round(score * 1e5)],
      );
    assert.deepEqual(await hits({ v: data[3]?.embedding }), await hits({ q: texts[3] }));
    assert.deepEqual(server.faults, []);
  });

test('an embedder is named by its key, its model or its vector key; what is wrong is refused', async (t) => {
  const { env } = await startFar(t);
  const { call } = await startTestServer(env);
  for (const model of ['far', 'm']) {
    const { json } = await call('POST', PATH, { input: ['a', 'b'], model });
    assert.deepEqual(
      (json.data as Embedded[]).map(({ embedding }) => embedding.length),
      [FAR_DIM, FAR_DIM],
    );
  }
  for (const body of [
    {},
    { input: [] },
    { input: ' ' },
    { input: ['a', ''] },
    { input: 7 },
    { input: [1, 2] },
    { input: 'a', model: 'text-embedding-3-small' },
    { input: 'a', dimensions: 3 },
    { input: 'a', encoding_format: 'int8' },
    { input: Array.from({ length: 257 }, () => 'a') },
    { input: 'a'.repeat(70_000) },
  ])
    await refused(call('POST', PATH, body), 422, 'validation_error');
});

test('any key with the scope `search` may ask, also one that is bound to filters', async () => {
  const admin = { authorization: 'Bearer admin' };
  const { call } = await startTestServer({ SHEAF_AUTH__MODE: 'static', SHEAF_AUTH__ADMIN_KEY: 'admin' });
  await refused(call('POST', PATH, { input: 'a' }), 401, 'auth_invalid');
  await call('POST', '/v1/admin/tenants', { tenant: 'acme' }, admin);
  const keyOf = async (body: object): Promise<Record<string, string>> => ({
    authorization: `Bearer ${(await call('POST', '/v1/admin/tenants/acme/keys', body, admin)).json.key}`,
  });
  for (const headers of [admin, await keyOf({ scopes: ['search'] }), await keyOf({ filters: { public: true } })])
    assert.equal((await call('POST', PATH, { input: 'a' }, headers)).status, 200);
  await refused(call('POST', PATH, { input: 'a' }, await keyOf({ scopes: ['ingest'] })), 403, 'auth_forbidden');
});
