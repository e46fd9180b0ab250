// The sample of stored vectors has the stored values, is bounded, is the same each time, and is only for callers that
// may see all documents.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { startTestServer, type Answer } from '../../kit/server.js';

const DIM = 24;
const ROWS = 700;
const PATH = '/v1/collections/acme/points';
const prng = createPrng(9);
const stored = Array.from({ length: ROWS }, () => Array.from({ length: DIM }, () => Math.fround(prng.next() - 0.5)));

const server = await startTestServer({
  SHEAF_AUTH__MODE: 'static',
  SHEAF_AUTH__ADMIN_KEY: 'root',
  SHEAF_AUTH__KEYS:
    '[{"name":"a","tenant":"acme","key":"acme-key"},{"name":"f","tenant":"acme","key":"narrow","filters":{"lang":"en"}},{"name":"g","tenant":"globex","key":"globex-key"}]',
});
const call = (method: string, path: string, body?: unknown, key = 'acme-key'): Promise<Answer> =>
  server.call(method, path, body, { authorization: `Bearer ${key}` });
await call('POST', PATH, { embedder_type: 'identity', embedder_config: { dim: DIM } });
assert.equal(
  (
    await call('POST', `${PATH}/documents:batch`, {
      documents: stored.map((vector, i) => ({ docid: `V${i}`, vector })),
    })
  ).status,
  201,
);

const sample = async (query = ''): Promise<{ rid: string; scale: number; components: string }[]> =>
  (await call('GET', `${PATH}/vectors${query}`)).json.vectors;

test('each is the vector of its chunk, within half a step', async () => {
  const vectors = await sample('?sample=2000');
  assert.equal(new Set(vectors.map(({ rid }) => rid)).size, ROWS);
  for (const { rid, scale, components } of vectors) {
    const bytes = new Int8Array(Buffer.from(components, 'base64'));
    assert.equal(bytes.length, DIM);
    const own = stored[Number(/^V(\d+)::/.exec(rid)?.[1])] as number[];
    own.forEach((value, j) =>
      assert.ok(
        Math.abs((bytes[j] as number) * scale - value) <= scale * 0.51,
        `${rid} ${j}: ${(bytes[j] as number) * scale} is not ${value}`,
      ),
    );
  }
});

test('as many as asked for, 500 where nothing is said, the same ones each time', async () => {
  assert.equal((await sample('?sample=50')).length, 50);
  const first = await sample();
  assert.equal(first.length, 500);
  assert.deepEqual(await sample(), first);
});

test('bad sizes are refused, a missing collection is not found, an empty one has none', async () => {
  for (const size of ['0', '-1', '2001', 'x', '1.5', ''])
    assert.equal((await call('GET', `${PATH}/vectors?sample=${size}`)).status, 422, size);
  assert.equal((await call('GET', '/v1/collections/acme/none/vectors')).json.code, 'collection_not_found');
  await call('POST', '/v1/collections/acme/empty');
  const { status, json } = await call('GET', '/v1/collections/acme/empty/vectors');
  assert.deepEqual([status, json.vectors, json.count], [200, [], 0]);
});

test('keys of other tenants, and keys with filters, see none', async () => {
  assert.equal((await call('GET', `${PATH}/vectors`, undefined, 'globex-key')).status, 403);
  assert.equal((await call('GET', `${PATH}/vectors`, undefined, 'narrow')).status, 403);
});
