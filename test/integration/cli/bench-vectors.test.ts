// `sheaf bench` with vectors of a collection, in each encoding, alone and in batches, against a real server.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { runInProcess } from '../../kit/cli.js';
import { startTestServer } from '../../kit/server.js';

const server = await startTestServer();
const prng = createPrng(5);
const path = '/v1/collections/acme/v';
await server.call('POST', path, { embedder_type: 'identity', embedder_config: { dim: 8 } });
const documents = Array.from({ length: 30 }, () => ({ vector: Array.from({ length: 8 }, () => prng.normal()) }));
await server.call('POST', `${path}/documents:batch`, { documents });

const bench = (collection: string, ...args: string[]) =>
  runInProcess(['bench', '--url', server.url, '-t', 'acme', '-c', collection, '--seconds', '0.3', '--json', ...args]);

for (const encoding of ['json', 'base64', 'msgpack'])
  for (const batch of [1, 7])
    test(`${encoding}, ${batch} a request`, async () => {
      const { code, stdout, stderr } = await bench('v', '--encoding', encoding, '--batch', String(batch));
      const { searches, failed } = JSON.parse(stdout) as { searches: number; failed: number };
      assert.deepEqual([code, failed], [0, 0], stderr);
      assert.ok(searches > 0 && searches % batch === 0);
    });

test('searches of a batch that fail are counted by code', async () => {
  const { code, stdout } = await bench('v', '--batch', '3', '--queries', new URL(import.meta.url).pathname);
  const { searches, failed, errors } = JSON.parse(stdout) as Record<string, any>;
  assert.deepEqual([code, searches], [1, 0]);
  assert.deepEqual(errors, { vectors_only: failed });
});

test('a collection without vectors is refused', async () => {
  await server.call('POST', '/v1/collections/acme/empty');
  const { code, stderr } = await bench('empty', '--encoding', 'base64');
  assert.equal(code, 2, stderr);
  assert.match(stderr, /acme\/empty has no vectors/);
});
