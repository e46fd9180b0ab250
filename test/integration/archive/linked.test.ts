// A restore in place of a collection waits until the new graph is complete: the first search after the switch scans no
// more rows than the last one before.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { refOf } from '../../../src/storage/catalog-commands.js';
import { asCollectionName, asTenant } from '../../../src/api/ids.js';
import { GRAPH_MIN } from '../../../src/engine/hnsw/vector-index.js';
import { download, upload } from '../../kit/archives.js';
import { startTestServer, type TestServer } from '../../kit/server.js';

const DIM = 8;
const ROWS = GRAPH_MIN + 500;
const BASE = '/v1/collections/acme/rows';

/** The number of unindexed rows in the only shard; undefined while the collection is being loaded. */
function unindexed({ parts }: TestServer): Promise<number | undefined> {
  const collection = parts.catalog.get(asTenant('acme'), asCollectionName('rows'));
  return parts.shards.request(0, 'indexing', { collection: refOf(collection) }).then((state) => state?.unindexed);
}

test('a restore in place of a collection, or of everything, switches to collections whose graphs are complete', async () => {
  const server = await startTestServer({ SHEAF_STORAGE__PARTITIONS: '1' });
  const prng = createPrng(11);
  assert.equal(
    (await server.call('POST', BASE, { embedder_type: 'identity', embedder_config: { dim: DIM } })).status,
    201,
  );
  for (let from = 0; from < ROWS; from += 500) {
    const documents = Array.from({ length: Math.min(500, ROWS - from) }, (_, i) => ({
      docid: `D${from + i}`,
      vector: Array.from({ length: DIM }, () => prng.normal()),
    }));
    assert.equal((await server.call('POST', `${BASE}/documents:batch`, { documents })).json.failed, 0);
  }
  const own = await download(server, `${BASE}/archive`);
  const all = await download(server, '/v1/admin/archive');
  for (const [path, bytes] of [
    [`${BASE}/archive`, own.bytes],
    ['/v1/admin/archive', all.bytes],
  ] as const) {
    const { status, text } = await upload(server, 'PUT', path, bytes);
    assert.equal(status, 200, text);
    const left = await unindexed(server);
    assert.ok(left !== undefined && left <= ROWS / 100, `${path}: ${left} rows are not indexed`);
  }
});
