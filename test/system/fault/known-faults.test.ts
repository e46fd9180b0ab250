// Data losses that the existing server of this API is known to have after crashes and restarts, each by name. Other
// tests cover its other faults: a reindex blocks nobody, a second request does not hang, an interrupted job continues
// by itself, writes do not make it fail, and a failed one blocks no other (contract/reindex, contract/reindex-writes,
// fault/reindex-kill); a second archive right after the first (archive/collection); an archive that lacks damaged
// collections says so (archive/damaged).
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { download, manifestOf } from '../../kit/archives.js';
import { ask, DOCS, killed, skip, startOverFaults, type Run } from '../../kit/faulty-server.js';
import { startServe } from '../../kit/process.js';
import { held, startFar, type Far } from '../../kit/reindex.js';
import { fileForm } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';

const textOf = (version: number): string => `in version ${version} `.repeat(200);

/**
 * The version of a document of several chunks, after asserting that all that is read and found of it has this version.
 */
async function wholeVersion(server: { url: string }, docid: string): Promise<number> {
  const { status, json } = await ask(server, 'GET', `${DOCS}/documents/${docid}`);
  assert.equal(status, 200, JSON.stringify(json));
  const { json: listed } = await ask(server, 'GET', `${DOCS}/documents/${docid}/chunks`);
  const { json: found } = await ask(server, 'POST', `${DOCS}/search`, { q: 'version', k: 100, filters: { docid } });
  assert.ok(json.chunk_ids.length > 1 && listed.count === json.chunk_ids.length, 'all chunks are listed');
  assert.deepEqual(
    found.matches.map(({ id }: { id: string }) => id).sort(),
    [...json.chunk_ids].sort(),
    'all chunks are found, and no other',
  );
  for (const { text } of found.matches) assert.ok(text.includes(`version ${json.version} `), `${docid}: ${text}`);
  return json.version;
}

/** Puts the document, which gets this version. */
async function put(server: { url: string }, base: string, version: number): Promise<void> {
  const { status, json } = await ask(server, 'POST', `${base}/documents`, { docid: 'D', text: textOf(version) });
  assert.equal(status, 201, JSON.stringify(json));
  assert.equal((await ask(server, 'GET', `${base}/documents/D`)).json.version, version);
}

/**
 * A document in two versions, on a server whose process is killed while it commits a third: at the first sync of the
 * commit, or after its last write.
 */
async function killedInCommit(skipped: number): Promise<Run> {
  const run = await startOverFaults();
  for (const version of [1, 2]) await put(run, DOCS, version);
  run.faults.set('sync', { name: 'shard-', dies: true, skip: skipped });
  await assert.rejects(
    ask(run, 'POST', `${DOCS}/documents`, { docid: 'D', text: textOf(3) }),
    'nothing is acknowledged',
  );
  await run.ended;
  return run;
}

test('a kill between the commit and the index: the collection loads with all that was committed, whenever readiness says ok', {
  skip,
}, async () => {
  const { dataDir } = await killedInCommit(1);
  const again = await startOverFaults({ dataDir });
  assert.equal((await ask(again, 'GET', '/health/ready')).status, 200);
  assert.equal(await wholeVersion(again, 'D'), 3);
  assert.equal((await ask(again, 'GET', `${DOCS}/detail`)).json.doc_count, 1);
  await killed(again);
});

test('a kill before the commit of a replacement: the document is there whole, in its old version', {
  skip,
}, async () => {
  const { dataDir } = await killedInCommit(0);
  const again = await startOverFaults({ dataDir });
  // The pages were written and the power stayed on, but only the meta page makes them a commit.
  assert.equal(await wholeVersion(again, 'D'), 2);
  await put(again, DOCS, 3);
  await killed(again);
});

/**
 * An embedder behind an endpoint that counts its calls and can be held up, and settings of a server that uses it by
 * default.
 */
async function remote(t: TestContext): Promise<Far> {
  const { env, ...far } = await startFar(t);
  return { ...far, env: { ...env, SHEAF_DATA_DIR: join(tempDirectory(), 'data'), SHEAF_EMBEDDER__DEFAULT: 'far' } };
}

test('a replacement that is killed while it is embedded: the document is there whole, in its old version', async (t) => {
  const { env, gate } = await remote(t);
  const server = await startServe(env);
  await ask(server, 'POST', `${DOCS}/documents`, { docid: 'D', text: textOf(1) });
  gate.close();
  const replaced = assert.rejects(ask(server, 'POST', `${DOCS}/documents`, { docid: 'D', text: textOf(2) }));
  await held(gate);
  await killed(server);
  await replaced;
  gate.open();
  const again = await startServe(env);
  assert.equal(await wholeVersion(again, 'D'), 1);
  await killed(again);
});

test('a restart embeds nothing anew, after a stop and after kill -9', async (t) => {
  const { env, calls } = await remote(t);
  let server = await startServe(env);
  const documents = Array.from({ length: 200 }, (_, n) => ({ docid: `D${n}`, text: `the text of number ${n}` }));
  assert.equal((await ask(server, 'POST', `${DOCS}/documents:batch`, { documents })).json.succeeded, 200);
  const embedded = (): string[] => calls.flatMap(({ input }) => input).filter((text) => text.startsWith('the text of'));
  assert.equal(embedded().length, 200);
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    server.child.kill(signal);
    await server.ended;
    server = await startServe(env);
    const { json } = await ask(server, 'POST', `${DOCS}/search`, { q: 'a question', k: 200 });
    assert.deepEqual([json.matches.length, embedded().length], [200, 200], signal);
  }
  await killed(server);
});

test('versions go on: after kill -9, a new name, a reindex and an archive', async (t) => {
  const { env } = await remote(t);
  let server = await startServe(env);
  let base = DOCS;
  let version = 0;
  const again = (): Promise<void> => put(server, base, ++version);
  await again();
  await again();
  await killed(server);
  server = await startServe(env);
  await again();
  await ask(server, 'POST', `${base}/move`, { new_name: 'moved' });
  base = '/v1/collections/acme/moved';
  await again();
  const { json: job } = await ask(server, 'POST', `${base}/reindex`, { embedder_type: 'builtin' });
  for (let status = ''; status !== 'succeeded'; await sleep(20))
    ({ status } = (await ask(server, 'GET', `/v1/admin/reindex/${job.job_id}`)).json);
  await again();
  const { bytes } = await download(server, `${base}/archive`);
  assert.equal((await ask(server, 'DELETE', base)).status, 200);
  assert.equal((await ask(server, 'POST', `${base}/archive`, fileForm('archive.zip', bytes))).status, 200);
  await again();
  await killed(server);
});

test('an archive of everything after a crash has every collection and every acknowledged document', async () => {
  const env = { SHEAF_DATA_DIR: join(tempDirectory(), 'data') };
  let server = await startServe(env);
  const acknowledged = new Map<string, number>();
  const write = async (writer: number): Promise<void> => {
    for (let n = 0; ; n++) {
      const name = `c${writer}-${n % 5}`;
      const { status } = await ask(server, 'POST', `/v1/collections/acme/${name}/documents`, {
        docid: `D${n}`,
        text: textOf(n),
      });
      if (status === 201) acknowledged.set(name, (acknowledged.get(name) ?? 0) + 1);
    }
  };
  const writing = [0, 1, 2].map((writer) => assert.rejects(write(writer)));
  while (acknowledged.size < 12) await sleep(20);
  await killed(server);
  await Promise.all(writing);
  server = await startServe(env);
  const response = await fetch(`${server.url}/v1/admin/archive`);
  assert.deepEqual([response.status, response.headers.get('x-service-skipped-collections')], [200, null]);
  const manifest = await manifestOf(new Uint8Array(await response.arrayBuffer()));
  assert.deepEqual(manifest.left_out, []);
  const { json } = await ask(server, 'GET', '/v1/collections/acme');
  const archived = new Set(manifest.collections.map(({ name }: { name: string }) => name));
  for (const name of acknowledged.keys()) assert.ok(archived.has(name), name);
  assert.equal(archived.size, json.collections.length);
  for (const [name, count] of acknowledged) {
    const { json: detail } = await ask(server, 'GET', `/v1/collections/acme/${name}/detail`);
    assert.ok(detail.doc_count === count || detail.doc_count === count + 1, `${name}: ${detail.doc_count} of ${count}`);
  }
  await killed(server);
});

test('an archive that its client does not read on holds up no search, no write and no other tenant', async () => {
  const server = await startServe({ SHEAF_DATA_DIR: join(tempDirectory(), 'data') });
  const documents = Array.from({ length: 60 }, (_, n) => ({ docid: `D${n}`, text: `number ${n} `.repeat(8000) }));
  assert.equal((await ask(server, 'POST', `${DOCS}/documents:batch`, { documents })).json.succeeded, 60);
  const leave = new AbortController();
  const response = await fetch(`${server.url}/v1/admin/archive`, { signal: leave.signal });
  assert.equal(response.status, 200);
  for (const tenant of ['acme', 'globex']) {
    assert.equal(
      (
        await ask(server, 'POST', `/v1/collections/${tenant}/docs/documents`, {
          docid: 'LATER',
          text: 'written beside the archive',
        })
      ).status,
      201,
    );
    const { json } = await ask(server, 'POST', `/v1/collections/${tenant}/docs/search`, {
      q: 'written beside',
      k: 1,
      mode: 'hybrid',
    });
    assert.equal(json.matches[0].meta.docid, 'LATER');
  }
  leave.abort();
  await killed(server);
});
