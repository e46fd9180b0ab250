// `sheaf import --from` against the real Chroma; against a real Qdrant where its program is on the PATH; and against
// the local mode of Qdrant's own Python client behind Qdrant's HTTP interface (qdrant_server.py).
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { type Ran, runInProcess } from '../../kit/cli.js';
import { startOpenAiServer } from '../../kit/openai-server.js';
import { pythonWith } from '../../kit/python.js';
import { type TestServer, startTestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';
import { until } from '../../kit/until.js';
import { cosine } from '../../../load/kit/cosine.js';

const CHROMA = 'chromadb==1.5.9';
const QDRANT_CLIENT = 'qdrant-client==1.20.0';
const DIM = 8;
const RECORDS = 700;

const prng = createPrng(23);
const records = Array.from({ length: RECORDS }, (_, i) => ({
  number: i,
  text: `Note ${i} tells of ${['whales', 'ships', 'harbours'][i % 3]}.`,
  metadata: { n: i, kind: i % 2 ? 'odd' : 'even' },
  vector: Array.from({ length: DIM }, () => prng.normal()),
}));

const chroma = pythonWith(CHROMA);
const qdrantClient = pythonWith(QDRANT_CLIENT);
const qdrant = spawnSync('qdrant', ['--version']).error === undefined;

test(`the real ${CHROMA}: texts, vectors and metadata come over, and the nearest are the nearest`, {
  skip: chroma.skip,
}, async (t) => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const args = [join(chroma.python, '../chroma'), 'run', '--path', tempDirectory(), '--port', String(port)];
  running(
    t,
    spawn(chroma.python, args, { env: { PATH: process.env.PATH, ANONYMIZED_TELEMETRY: 'False' }, stdio: 'ignore' }),
  );
  await until(() => answers(`${url}/api/v2/heartbeat`), 'Chroma does not start');
  const base = `${url}/api/v2/tenants/default_tenant/databases/default_database/collections`;
  const { id } = await ask('POST', base, { name: 'notes', configuration: { hnsw: { space: 'cosine' } } });
  for (const page of pagesOf(records))
    await ask('POST', `${base}/${id}/add`, {
      ids: page.map(({ number }) => `note-${number}`),
      documents: page.map(({ text }) => text),
      metadatas: page.map(({ metadata }) => metadata),
      embeddings: page.map(({ vector }) => vector),
    });
  await checkImport(t, { url, from: 'chroma', idOf: (number) => `note-${number}` });
  await checkEmbedded(await startTestServer(), url, 'chroma');
});

test(`Qdrant's interface over ${QDRANT_CLIENT}: texts, vectors and metadata come over`, {
  skip: qdrantClient.skip,
}, async (t) => {
  const child = spawn(qdrantClient.python, ['test/system/cli/qdrant_server.py'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  running(t, child);
  let output = '';
  child.stdout.on('data', (piece: Buffer) => (output += String(piece)));
  await until(() => output.endsWith('\n'), 'the server does not start');
  await checkQdrant(t, output.trim());
});

test('the real Qdrant: texts, vectors and metadata come over', {
  skip: !qdrant && 'the program qdrant is not installed',
}, async (t) => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const folder = tempDirectory();
  const env = {
    QDRANT__SERVICE__HTTP_PORT: String(port),
    QDRANT__SERVICE__GRPC_PORT: String(await freePort()),
    QDRANT__STORAGE__STORAGE_PATH: folder,
  };
  running(t, spawn('qdrant', [], { cwd: folder, env: { ...process.env, ...env }, stdio: 'ignore' }));
  await until(() => answers(`${url}/readyz`), 'Qdrant does not start');
  await checkQdrant(t, url);
});

async function checkQdrant(t: TestContext, url: string): Promise<void> {
  await ask('PUT', `${url}/collections/notes`, { vectors: { size: DIM, distance: 'Cosine' } });
  for (const page of pagesOf(records))
    await ask('PUT', `${url}/collections/notes/points?wait=true`, {
      points: page.map(({ number, text, metadata, vector }) => ({
        id: number,
        vector,
        payload: { document: text, ...metadata },
      })),
    });
  await checkImport(t, { url, from: 'qdrant', idOf: String });
  await checkEmbedded(await startTestServer(), url, 'qdrant');
}

interface Source {
  url: string;
  from: 'chroma' | 'qdrant';
  idOf: (number: number) => string;
}

/**
 * Asserts that texts, vectors and metadata are imported as they were put there, and that a second import changes
 * nothing.
 */
async function checkImport(t: TestContext, { url, from, idOf }: Source): Promise<void> {
  const embeddings = await startOpenAiServer(t, { dim: DIM });
  const tiny = { key: 'tiny', type: 'openai', model: 'tiny-embedding', dim: DIM, url: embeddings.url, retries: 0 };
  const server = await startTestServer({ SHEAF_EMBEDDER__INSTANCES: JSON.stringify([tiny]) });
  const args = [url, '--from', from, '-c', 'notes', '--embedder', 'tiny'];
  for (const more of [[], ['--replace']]) {
    const { code, stdout, stderr } = await sheaf(server, ...args, ...more);
    assert.equal(code, 0, stderr);
    assert.match(stdout, new RegExp(`^default/notes imported from notes at ${url}: ${RECORDS} documents, `));
  }
  const base = '/v1/collections/default/notes';
  assert.equal((await server.call('GET', `${base}/documents`)).json.count, RECORDS);
  for (const { number, text, metadata, vector } of [records[0], records[255], records[256], records.at(-1)].map(
    (record) => record!,
  )) {
    const { json } = await server.call('GET', `${base}/documents/${idOf(number)}`);
    assert.deepEqual([json.metadata.n, json.metadata.kind], [metadata.n, metadata.kind]);
    const chunk = encodeURIComponent(`${idOf(number)}::chunk_0`);
    assert.equal((await server.call('GET', `${base}/chunks/${chunk}/content`)).text, text);
    const { json: found } = await server.call('POST', `${base}/search`, { v: vector, k: 5, exact: true });
    const nearest = records
      .map((other) => ({ id: `${idOf(other.number)}::chunk_0`, score: cosine(vector, other.vector) }))
      .sort((a, b) => b.score - a.score);
    assert.deepEqual(
      found.matches.map(({ id }: { id: string }) => id),
      nearest.slice(0, 5).map(({ id }) => id),
    );
  }
}

/** Imports with the server's own embedder, and asserts that searches find the texts. */
async function checkEmbedded(server: TestServer, url: string, from: string): Promise<void> {
  const { code, stderr } = await sheaf(
    server,
    url,
    '--from',
    from,
    '-c',
    'texts',
    '--from-collection',
    'notes',
    '--embed',
  );
  assert.equal(code, 0, stderr);
  const { json } = await server.call('POST', '/v1/collections/default/texts/search', {
    q: '127',
    k: 1,
    mode: 'hybrid',
  });
  assert.equal(json.matches[0].meta.n, 127);
  assert.equal((await server.call('GET', '/v1/collections/default/texts/documents')).json.count, RECORDS);
}

const sheaf = (server: TestServer, ...args: readonly string[]): Promise<Ran> =>
  runInProcess(['import', ...args, '--url', server.url]);

const pagesOf = <T>(all: readonly T[]): T[][] =>
  Array.from({ length: Math.ceil(all.length / 200) }, (_, i) => all.slice(i * 200, (i + 1) * 200));

async function ask(method: string, url: string, body: object): Promise<Record<string, unknown>> {
  const response = await fetch(url, {
    method,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  assert.ok(response.ok, `${url}: ${response.status} ${text}`);
  return text === '' ? {} : ((JSON.parse(text) ?? {}) as Record<string, unknown>);
}

const answers = (url: string): Promise<boolean> =>
  fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );

/** Ends the process with the test. */
function running(t: TestContext, child: ChildProcess): void {
  t.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  });
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
