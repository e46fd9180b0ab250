// Makes a fixture with every on-disk format as a given build writes it: node test/kit/data/make-fixture.mjs BUILD
// OUT.zip, where BUILD is a checkout that has been built. The zip holds `data/`, a data directory that was stopped by
// SIGTERM and therefore has a checkpoint; `archive.zip`, an archive of everything; and `expected.json`, requests with
// the answers that the build itself gave. test/integration/storage/older-formats.test.ts opens the fixtures.
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import JSZip from 'jszip';

const [build, out] = process.argv.slice(2);
const ADMIN_KEY = 'admin-key-of-the-fixture';
const PORT = 18_095;
/** Enough rows for a graph and quantized vectors, and so for a checkpoint with both. */
const ROWS = 4500;
const DIM = 40;
const WORDS = 'whale ship harpoon sea captain storm island anchor sail rope deck mast wind wave coast chart star'.split(
  ' ',
);

const folder = mkdtempSync(join(tmpdir(), 'fixture-'));
const server = spawn(
  process.execPath,
  [resolve(build, 'dist/src/main.js'), 'serve', '--data-dir', join(folder, 'data'), '--port', String(PORT)],
  {
    cwd: folder,
    stdio: 'ignore',
    env: {
      PATH: process.env.PATH,
      SHEAF_STORAGE__PARTITIONS: '1',
      SHEAF_AUTH__MODE: 'static',
      SHEAF_AUTH__ADMIN_KEY: ADMIN_KEY,
    },
  },
);
const exited = new Promise((resolve) => server.once('exit', resolve));

async function call(method, path, body) {
  const headers = { authorization: `Bearer ${ADMIN_KEY}`, ...(body && { 'content-type': 'application/json' }) };
  const reply = await fetch(`http://127.0.0.1:${PORT}${path}`, { method, headers, body: body && JSON.stringify(body) });
  const bytes = Buffer.from(await reply.arrayBuffer());
  if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${bytes}`);
  return reply.headers.get('content-type')?.includes('json') ? JSON.parse(bytes) : bytes;
}

async function waitFor(what, isTrue) {
  for (let i = 0; i < 600; i++) {
    if (await isTrue().catch(() => false)) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${what} did not come in a minute`);
}

/** The random number generator of Park and Miller, from 0 to 1. */
function generator(seed) {
  let state = seed;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

const random = generator(5);
/** A vector of few different numbers (`steps`), so that the fixture compresses well. */
const randomVector = (steps = 1000) =>
  Array.from({ length: DIM }, () => Math.round((random() - 0.5) * 2 * steps) / steps);
const randomText = (i) =>
  `${Array.from({ length: 40 }, () => WORDS[Math.floor(random() * WORDS.length)]).join(' ')}. Number ${i}.`;

const REQUESTS = [
  ['texts', { q: 'a storm at sea', k: 5 }],
  ['texts', { q: 'captain harpoon', k: 5, mode: 'hybrid' }],
  ['texts', { q: 'anchor chart', k: 5, mode: 'boost', filters: { shelf: 'odd' } }],
  ['vectors', { v: randomVector(), k: 10 }],
  ['vectors', { v: randomVector(), k: 10, exact: true, filters: { part: { $gte: 3 } } }],
];

try {
  await waitFor('the server', async () => (await fetch(`http://127.0.0.1:${PORT}/health/ready`)).ok);
  await call('POST', '/v1/admin/tenants', { tenant: 'acme', display_name: 'Acme' });
  const { key } = await call('POST', '/v1/admin/tenants/acme/keys', { label: 'reader', scopes: ['search'] });
  await call('POST', '/v1/collections/acme/texts', { language: 'english', priority_key: 'weight' });
  await call('POST', '/v1/collections/acme/vectors', { embedder_type: 'identity', embedder_config: { dim: DIM } });
  for (let i = 0; i < 60; i++)
    await call('POST', '/v1/collections/acme/texts/documents', {
      docid: `t${i}`,
      text: randomText(i),
      metadata: { shelf: i % 2 ? 'odd' : 'even', number: i, weight: i % 3 },
    });
  for (let first = 0; first < ROWS; first += 300)
    await call('POST', '/v1/collections/acme/vectors/documents:batch', {
      documents: Array.from({ length: 300 }, (_, i) => ({
        docid: `v${first + i}`,
        vector: randomVector(2),
        metadata: { part: (first + i) % 7 },
      })),
    });
  for (const docid of ['t3', 't4']) await call('DELETE', `/v1/collections/acme/texts/documents/${docid}`);
  let graphBytes = -1;
  await waitFor('the graph', async () => {
    await new Promise((resolve) => setTimeout(resolve, 3000));
    const { memory } = await call('GET', '/v1/collections/acme/vectors/detail');
    const isStill = memory.graph > 0 && memory.graph === graphBytes;
    graphBytes = memory.graph;
    return isStill;
  });
  const answers = [];
  for (const [collection, body] of REQUESTS) {
    const { matches } = await call('POST', `/v1/collections/acme/${collection}/search`, body);
    answers.push({ collection, body, ids: matches.map(({ id }) => id), scores: matches.map(({ score }) => score) });
  }
  await waitFor('the query log', async () => {
    const lists = await Promise.all(
      ['texts', 'vectors'].map((name) => call('GET', `/v1/collections/acme/${name}/queries?limit=100`)),
    );
    return lists.reduce((sum, { queries }) => sum + queries.length, 0) === REQUESTS.length;
  });
  const archive = await call('GET', '/v1/admin/archive');
  server.kill('SIGTERM');
  await exited;
  const zip = new JSZip();
  for (const entry of readdirSync(join(folder, 'data'), { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath ?? entry.path, entry.name);
    if (entry.isFile()) zip.file(path.slice(folder.length + 1), readFileSync(path));
  }
  zip.file('archive.zip', archive);
  zip.file('expected.json', JSON.stringify({ adminKey: ADMIN_KEY, key, rows: ROWS, answers }, null, 1));
  writeFileSync(
    out,
    await zip.generateAsync({ type: 'nodebuffer', compression: 'DEFLATE', compressionOptions: { level: 9 } }),
  );
} finally {
  server.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
}
