// Search workers read what shard workers write, concurrently: documents are seen completely in the old or the new
// version, an acknowledged write is visible to the next search, and the death of either kind of worker harms only what
// it was doing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { ready, startTestServer } from '../../kit/server.js';
import { until } from '../../kit/until.js';

const SHARDS = 2;
const server = await startTestServer({ SHEAF_STORAGE__PARTITIONS: String(SHARDS), SHEAF_THREADS: '3' });
const { call } = server;

/** The number of chunks of a document in this version. */
const chunksOf = (version: number): number => 2 + (version % 3);

/** A document with that many chunks; consecutive versions differ in the number. */
const documentOf = (docid: string, version: number): object => ({
  docid,
  text: `version ${version} of the ${docid} `.padEnd(100, 'x ').repeat(chunksOf(version)),
  metadata: { version },
});

interface Seen {
  version: number;
  chunks: number;
}

/** What a search shows of each document; asserts that each is in one version. */
function documentsIn(
  matches: readonly { meta: { docid: string; version: number } }[],
  label: string,
): Map<string, Seen> {
  const seen = new Map<string, Seen>();
  for (const {
    meta: { docid, version },
  } of matches) {
    const known = seen.get(docid) ?? { version, chunks: 0 };
    assert.equal(known.version, version, `two versions of ${docid} in one answer, ${label}`);
    seen.set(docid, { version, chunks: known.chunks + 1 });
  }
  return seen;
}

function assertWhole(seen: ReadonlyMap<string, Seen>, label: string): void {
  for (const [docid, { version, chunks }] of seen)
    assert.equal(chunks, chunksOf(version), `${docid} in version ${version}, ${label}`);
}

/** Puts and deletes documents without a pause until told to stop, and after each looks for what was acknowledged. */
async function writeAndLook(base: string, writer: number, running: () => boolean): Promise<void> {
  const prng = createPrng(writer);
  for (let version = 1; running(); version++) {
    const docid = `W${writer}-${prng.int(4)}`;
    const isDelete = prng.int(3) === 0;
    const { status } = isDelete
      ? await call('DELETE', `${base}/documents/${docid}`)
      : await call('POST', `${base}/documents`, documentOf(docid, version));
    assert.ok([200, 201, 404, 503].includes(status), String(status));
    if (status === 503) continue;
    const { status: found, json } = await call('POST', `${base}/search`, {
      q: 'version',
      k: 1000,
      mode: prng.int(2) === 0 ? 'hybrid' : 'vector',
      filters: { docid },
    });
    if (found === 503) continue;
    const seen = documentsIn(json.matches, `lane ${writer}`).get(docid);
    assert.equal(seen?.version, isDelete ? undefined : version, `${docid} after its write, lane ${writer}`);
  }
}

async function searchAll(base: string, running: () => boolean, answered: () => void): Promise<void> {
  const modes = ['vector', 'hybrid', 'boost'];
  for (let i = 0; running(); i++) {
    const { status, json } = await call('POST', `${base}/search`, {
      q: 'version of the documents',
      k: 1000,
      mode: modes[i % 3],
    });
    assert.ok(status === 200 || status === 503, String(status));
    if (status === 503) continue;
    assertWhole(documentsIn(json.matches, modes[i % 3] as string), modes[i % 3] as string);
    answered();
  }
}

/** Runs writers and searchers concurrently while `trouble` happens, and until this many searches have been answered. */
async function sideBySide(base: string, answersMin: number, trouble: () => Promise<void>): Promise<void> {
  let isRunning = true;
  let answers = 0;
  const running = (): boolean => isRunning;
  await call('POST', base, { chunking: { strategy: 'fixed', size: 100, overlap: 0 } });
  const work = [
    ...[1, 2, 3].map((writer) => writeAndLook(base, writer, running)),
    ...[1, 2].map(() => searchAll(base, running, () => answers++)),
  ];
  const over = trouble().then(() =>
    until(
      () => answers >= answersMin,
      () => `${answers} searches are answered`,
    ),
  );
  try {
    await Promise.race([over, Promise.all(work)]);
  } finally {
    isRunning = false;
  }
  await Promise.all(work);
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

test('documents that are replaced and deleted without a pause are seen whole, and every acknowledged write at once', async () => {
  await sideBySide('/v1/collections/acme/whole', 10, () => pause(3000));
});

test('search workers die again and again while they read: searches go on, and no write notices', async () => {
  await sideBySide('/v1/collections/acme/readers', 6, async () => {
    for (let kill = 0; kill < 8; kill++) {
      await pause(250);
      await server.parts.searches.kill();
    }
  });
});

test('owners die while searches run: the shard comes back with what was acknowledged', async () => {
  const prng = createPrng(3);
  await sideBySide('/v1/collections/acme/owners', 6, async () => {
    for (let kill = 0; kill < 8; kill++) {
      await pause(250);
      await server.parts.shards.kill(prng.int(SHARDS));
    }
    await ready(server);
  });
});

test('both kinds die together, and the server stops cleanly', async () => {
  await Promise.all([server.parts.searches.kill(), server.parts.shards.kill(0), server.parts.shards.kill(1)]);
  await ready(server);
  const { status, json } = await call('POST', '/v1/collections/acme/owners/search', { q: 'version', k: 1000 });
  assert.equal(status, 200);
  assertWhole(documentsIn(json.matches, 'in the end'), 'in the end');
  await server.stop();
});
