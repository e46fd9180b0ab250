// An archive shows one moment, whatever is written meanwhile. Searches and writes continue beside it, and a restore
// becomes visible all at once.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'node:test';
import { download, manifestOf, upload } from '../../kit/archives.js';
import { startTestServer } from '../../kit/server.js';
import { until } from '../../kit/until.js';

const server = await startTestServer({ SHEAF_STORAGE__PARTITIONS: '4' });
const { call } = server;
const PATH = '/v1/collections/acme/moment';
const DIM = 4;

await call('POST', PATH, { embedder_type: 'identity', embedder_config: { dim: DIM } });

const put = (path: string, docid: string, n: number): ReturnType<typeof call> =>
  call('POST', `${path}/documents`, { docid, vector: [n + 1, 1, 0, 0], metadata: { n } });

async function restoredDocuments(bytes: Uint8Array, name: string): Promise<Map<string, number>> {
  const { status, text } = await upload(server, 'POST', `/v1/collections/acme/${name}/archive`, bytes);
  assert.equal(status, 200, text);
  const { json } = await call('GET', `/v1/collections/acme/${name}/documents`);
  return new Map(json.documents.map(({ docid, version }: { docid: string; version: number }) => [docid, version]));
}

test('an archive has all of a sequence of writes up to one of them, and none after it', async () => {
  let isOver = false as boolean;
  let [written, acknowledged] = [0, 0];
  // Each document is written after the previous one was acknowledged, so the writes are ordered although they go to
  // several shards.
  const writing = (async () => {
    for (; !isOver; acknowledged++)
      assert.equal((await put(PATH, `W${String(written++).padStart(5, '0')}`, written)).status, 201);
  })();
  const archives: Uint8Array[] = [];
  for (let n = 0; n < 4; n++) {
    const before = written;
    await until(() => acknowledged > before, 'nothing is written');
    const { status, bytes } = await download(server, `${PATH}/archive`);
    assert.equal(status, 200);
    archives.push(bytes);
  }
  isOver = true;
  await writing;
  let former = 0;
  for (const [n, bytes] of archives.entries()) {
    const documents = [...(await restoredDocuments(bytes, `copy${n}`)).keys()].sort();
    assert.deepEqual(
      documents,
      documents.map((_, i) => `W${String(i).padStart(5, '0')}`),
    );
    assert.equal(documents.length, (await manifestOf(bytes)).counts.documents);
    assert.ok(documents.length > former, `${documents.length} after ${former}`);
    former = documents.length;
  }
});

test('searches and writes are answered while archives are written', async () => {
  const archives = Array.from({ length: 3 }, () => download(server, '/v1/admin/archive'));
  for (let n = 0; n < 10; n++) {
    assert.equal((await call('POST', `${PATH}/search`, { v: [1, 1, 0, 0], k: 3 })).status, 200);
    assert.equal((await put(PATH, `B${n}`, n)).status, 201);
  }
  for (const { status } of await Promise.all(archives)) assert.equal(status, 200);
});

test('a search sees the collection before a replacement or after it, never a mix', async () => {
  const path = '/v1/collections/acme/switched';
  await call('POST', path, { embedder_type: 'identity', embedder_config: { dim: DIM } });
  const fill = (label: string): Promise<unknown> =>
    call('POST', `${path}/documents:batch`, {
      documents: Array.from({ length: 40 }, (_, n) => ({ docid: `${label}${n}`, vector: [1, n / 100, 0, 0] })),
    });
  await fill('OLD');
  const { bytes: old } = await download(server, `${path}/archive`);
  for (let n = 0; n < 40; n++) await call('DELETE', `${path}/documents/OLD${n}`);
  await fill('NEW');
  let isOver = false as boolean;
  const seen: string[] = [];
  const searching = (async () => {
    while (!isOver) {
      const { status, json } = await call('POST', `${path}/search`, { v: [1, 0, 0, 0], k: 40 });
      if (status === 200)
        seen.push(
          [...new Set(json.matches.map(({ id }: { id: string }) => id.slice(0, 3)))].join('+') + json.matches.length,
        );
    }
  })();
  await until(() => seen.length > 0, 'nothing is found before the replacement');
  const { status, text } = await upload(server, 'PUT', `${path}/archive`, old);
  assert.equal(status, 200, text);
  const before = seen.length;
  await until(() => seen.length > before + 1, 'nothing is found after the replacement');
  isOver = true;
  await searching;
  assert.deepEqual([...new Set(seen)], ['NEW40', 'OLD40']);
});

test('a client that goes away in the midst leaves nothing behind, and the next archive is whole', async () => {
  for (let n = 0; n < 6; n++) {
    const leave = new AbortController();
    const response = fetch(`${server.url}/v1/admin/archive`, { signal: leave.signal }).catch(() => undefined);
    await sleep(20 * n);
    leave.abort();
    await response;
  }
  const { status, bytes } = await download(server, '/v1/admin/archive');
  assert.equal(status, 200);
  assert.deepEqual((await manifestOf(bytes)).left_out, []);
});

test('no internal error was logged', () => assert.deepEqual(server.faults, []));
