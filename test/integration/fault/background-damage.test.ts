// A damaged record that background work meets: in the text index that a first search needs, far beyond what is indexed
// at once. The searches of its collection report it, the shard's worker lives on, and other collections of the shard
// can be written all the time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { join } from 'node:path';
import { createPrng } from '../../../src/base/prng.js';
import { entriesOf, environmentFile, flipValue } from '../../kit/flip.js';
import { startTestServer, type TestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';
import { until } from '../../kit/until.js';

const DOCUMENTS = 4000;
const WORDS = 60;

async function fill({ call }: TestServer): Promise<void> {
  const prng = createPrng(1);
  const words = (): string => Array.from({ length: WORDS }, () => `word${prng.int(5000)}`).join(' ');
  for (let from = 0; from < DOCUMENTS; from += 500) {
    const documents = Array.from({ length: 500 }, (_, i) => ({
      docid: `D${from + i}`,
      text: words(),
      metadata: { n: i },
    }));
    assert.equal(
      (await call('POST', '/v1/collections/acme/victim/documents:batch', { documents })).json.succeeded,
      500,
    );
  }
}

const search = ({ call }: TestServer) => call('GET', '/v1/collections/acme/victim/search?q=word77&mode=hybrid&k=1');

test("damage that background indexing meets is reported to the collection's searches only", async () => {
  const settings = { SHEAF_STORAGE__PARTITIONS: '1', SHEAF_DATA_DIR: join(tempDirectory(), 'data') };
  const whole = await startTestServer(settings);
  await fill(whole);
  assert.equal(
    (await whole.call('POST', '/v1/collections/acme/other/documents', { docid: 'A', text: 'a text' })).status,
    201,
  );
  await whole.stop();
  const path = environmentFile(settings.SHEAF_DATA_DIR, 'shard-0');
  flipValue(
    path,
    entriesOf(path)
      .filter(({ table, key }) => table === 'texts' && key.readUInt32BE() === 1)
      .at(-1) as ReturnType<typeof entriesOf>[number],
  );
  const server = await startTestServer(settings);
  await until(async () => {
    assert.equal(
      (await server.call('POST', '/v1/collections/acme/other/documents', { docid: 'B', text: 'another' })).status,
      201,
    );
    const { status, json } = await search(server);
    return status === 503 && json.code === 'collection_damaged';
  }, 'no search is told of the damage');
  assert.equal(
    (await server.call('POST', '/v1/collections/acme/other/documents', { docid: 'C', text: 'a third' })).status,
    201,
  );
  assert.equal((await server.call('GET', '/v1/collections/acme/victim/detail')).json.damaged, true);
  assert.deepEqual(
    server.faults.filter((fault) => fault.includes('worker')),
    [],
  );
});
