// `sheaf import --from` against a server that speaks as much of the protocols of Chroma and Qdrant as the import uses:
// what is imported, what is left out, and what is said where the other side fails. test/system/cli imports from the
// real databases.
import assert from 'node:assert/strict';
import { type TestContext, after, test } from 'node:test';
import { type Ran, runInProcess } from '../../kit/cli.js';
import {
  type Answer,
  type FakeRequest,
  type FakeServer,
  type Result,
  closedPort,
  startFakeServer,
} from '../../kit/fake-server.js';
import { startOpenAiServer } from '../../kit/openai-server.js';
import { startTestServer } from '../../kit/server.js';
import { until } from '../../kit/until.js';

const DIM = 8;
const embeddings = await startOpenAiServer({ after }, { dim: DIM });
const tiny = { key: 'tiny', type: 'openai', model: 'tiny-embedding', dim: DIM, url: embeddings.url, retries: 0 };
const server = await startTestServer({ SHEAF_EMBEDDER__INSTANCES: JSON.stringify([tiny]) });

const sheaf = (...args: readonly string[]): Promise<Ran> => runInProcess(['import', ...args, '--url', server.url]);

interface Point {
  id: string | number;
  payload: Record<string, unknown> | null;
  vector: unknown;
}

const vectorOf = (i: number): number[] => Array.from({ length: DIM }, (_, place) => ((i * 7 + place * 3) % 11) + 1);

/**
 * A fake collection of Qdrant. It scrolls as Qdrant does: `next_page_offset` is the id of the next point. `first` answers
 * the first request and `instead` any later one, unless they return undefined.
 */
function qdrant(
  t: TestContext,
  points: readonly Point[],
  vectors: object = { size: DIM, distance: 'Cosine' },
  first?: Answer,
  instead?: (request: FakeRequest) => Promise<Result | undefined>,
): Promise<FakeServer> {
  let asked = 0;
  return startFakeServer(t, async (request) => {
    const early = asked++ === 0 ? await first?.(request) : await instead?.(request);
    if (early !== undefined) return early;
    if (request.path === '/collections/notes')
      return { json: { result: { points_count: points.length, config: { params: { vectors } } }, status: 'ok' } };
    if (request.path !== '/collections/notes/points/scroll')
      return { status: 404, json: { status: { error: 'Not found' } } };
    const { limit, offset } = JSON.parse(String(request.body)) as { limit: number; offset?: unknown };
    const from = offset === undefined ? 0 : points.findIndex(({ id }) => id === offset);
    const next = points[from + limit]?.id ?? null;
    // JSON.stringify cannot write a number of this size, so it is written as a string and unquoted afterwards.
    const text = JSON.stringify({ result: { points: points.slice(from, from + limit), next_page_offset: next } });
    return {
      text: text.replaceAll('"18446744073709551615"', '18446744073709551615'),
      headers: { 'content-type': 'application/json' },
    };
  });
}

const many = Array.from({ length: 600 }, (_, i) => ({
  id: i + 1,
  payload: { document: `Note ${i} tells of ${i % 2 ? 'whales' : 'ships'}.`, n: i, docid: 'theirs' },
  vector: vectorOf(i),
}));

test('texts, vectors and metadata come over from Qdrant under their ids, as often as it is asked for', async (t) => {
  const { url } = await qdrant(t, many);
  const args = [url, '--from', 'qdrant', '--from-collection', 'notes', '-c', 'kept', '--embedder', 'tiny'];
  const first = await sheaf(...args);
  assert.deepEqual(
    [first.code, first.stdout.replace(/, [\d.]+ s\.\n$/, '')],
    [0, `default/kept imported from notes at ${url}: 600 documents`],
    first.stderr,
  );
  const base = '/v1/collections/default/kept';
  const { json: document } = await server.call('GET', `${base}/documents/301`);
  assert.deepEqual(
    [document.metadata.n, document.metadata.source_docid, document.chunk_ids],
    [300, 'theirs', ['301::chunk_0']],
  );
  const content = await server.call('GET', `${base}/chunks/${encodeURIComponent('301::chunk_0')}/content`);
  assert.equal(content.text, 'Note 300 tells of ships.');
  const { json: found } = await server.call('POST', `${base}/search`, { v: vectorOf(300), k: 1, filters: { n: 300 } });
  assert.ok(found.matches[0].id === '301::chunk_0' && found.matches[0].score > 0.9999);
  const again = await sheaf(...args);
  assert.equal(again.code, 1);
  assert.match(again.stderr, /collection_exists.*Use --replace/);
  assert.equal((await sheaf(...args, '--replace')).code, 0);
  assert.equal((await server.call('GET', `${base}/documents`)).json.count, 600);
  const { json: all } = await server.call('GET', '/v1/collections/default');
  assert.deepEqual(
    all.collections.filter(({ name }: { name: string }) => name.startsWith('import-')),
    [],
  );
});

test('the texts can be embedded here instead; what has no text is left out', async (t) => {
  const { url } = await qdrant(t, [
    {
      id: 'a',
      payload: { page_content: 'Captain Nemo commands the Nautilus.', metadata: { year: 1870 }, lang: 'en' },
      vector: [1],
    },
    { id: 'b', payload: { n: 1 }, vector: [1] },
    { id: 'c', payload: null, vector: [1] },
  ]);
  for (let tries = 0; tries < 2; tries++) {
    const { code, stdout, stderr } = await sheaf(
      url,
      '--from',
      'qdrant',
      '--from-collection',
      'notes',
      '-c',
      'embedded',
      '--embed',
    );
    assert.equal(code, 1);
    assert.match(stdout, /: 1 document, 2 records left out, /);
    assert.match(stderr, /^Left out: b: it has no text\.\nLeft out: c: it has no text\.\n$/m);
  }
  const { json } = await server.call('GET', '/v1/collections/default/embedded/search?q=submarine+captain');
  assert.equal(json.matches.length, 1);
  assert.deepEqual(
    [json.matches[0].docid ?? json.matches[0].meta.docid, json.matches[0].meta.year, json.matches[0].meta.lang],
    ['a', 1870, 'en'],
  );
});

test('records without texts become a collection of vectors; numbers keep their digits, and odd records are left out', async (t) => {
  const points: Point[] = [
    {
      id: '18446744073709551615',
      payload: { big: '18446744073709551615' },
      vector: { image: vectorOf(1), words: { indices: [1], values: [1] } },
    },
    { id: 2, payload: {}, vector: { image: vectorOf(2) } },
    { id: 3, payload: {}, vector: {} },
    { id: 4, payload: {}, vector: { image: [1, 2] } },
    { id: 5, payload: { text: 'late' }, vector: { image: vectorOf(5) } },
    { id: '..', payload: {}, vector: { image: vectorOf(6) } },
  ];
  const { url } = await qdrant(t, points, { image: { size: DIM, distance: 'Euclid' } });
  const { code, stdout, stderr } = await sheaf(url, '--from', 'qdrant', '--from-collection', 'notes', '-c', 'vectors');
  assert.equal(code, 1, stderr);
  assert.match(stdout, /: 2 documents, 4 records left out, /);
  assert.match(
    stderr,
    /Left out: 3: it has no vector\.\n.*Left out: 4: 1 chunks of 8 dimensions have 8 bytes of vectors\.\n.*Left out: 5: .*vectors only\.\n.*Left out: \.\.: its id is invalid\.\n/s,
  );
  assert.match(stderr, /uses the metric Euclid, Sheaf uses cosine/);
  const { json } = await server.call('GET', '/v1/collections/default/vectors/documents/18446744073709551615');
  assert.equal(json.metadata.big, '18446744073709551615');
});

test("a choice that is the user's is asked for, and contradictions are named", async (t) => {
  const { url } = await qdrant(t, many.slice(0, 3));
  const named = await qdrant(t, [], { image: { size: 3, distance: 'Dot' }, text: { size: 4, distance: 'Dot' } });
  const nested = await qdrant(t, [
    {
      id: 1,
      payload: {},
      vector: [
        [1, 2],
        [3, 4],
      ],
    },
  ]);
  const from = (address: string, ...more: string[]): string[] => [
    address,
    '--from',
    'qdrant',
    '--from-collection',
    'notes',
    '-c',
    'new',
    ...more,
  ];
  const cases: [string[], RegExp][] = [
    [from(url), /The records have texts\. Use --embedder SELECTOR .* or --embed /],
    [from(url, '--embedder', 'tiny', '--embed'), /Use --embedder to keep the vectors, or --embed/],
    [from(url, '--resume'), /--resume goes with --embed\./],
    [from(url, '--embed', '--replace'), /--embed adds to the collection/],
    [from(url, '--from-database', 'a/b'), /--from qdrant does not take --from-database/],
    [['docs.zip', '--embed'], /--from pavedb does not take --embed/],
    [from(named.url), /Choose one with --vector: image, text\./],
    [from(named.url, '--vector', 'sound'), /no vector sound\. They have: image, text\./],
    [from(named.url, '--vector', 'image'), /has no records\./],
    [from(nested.url), /multi-vectors/],
    [[url, '--from', 'qdrant', '-c', 'other'], /There is no collection other at .* --from-collection/],
    [from('localhost'), /localhost is not an address\. Give the address of the server as http:/],
    [[url, '--from', 'chroma', '--from-database', 'one'], /Give --from-database as TENANT\/DATABASE/],
  ];
  for (const [args, message] of cases) {
    const { code, stderr } = await sheaf(...args);
    assert.deepEqual([code, message.test(stderr)], [2, true], `${args.join(' ')}: ${stderr}`);
  }
  assert.equal((await server.call('GET', '/v1/collections/default/new/detail')).status, 404);
});

test('what passes is tried again; what does not is told in a line', async (t) => {
  const args = (url: string): string[] => [
    url,
    '--from',
    'qdrant',
    '--from-collection',
    'notes',
    '-c',
    'tried',
    '--embedder',
    'tiny',
  ];
  for (const result of ['hang up', { status: 503, text: 'busy' }] as const) {
    const { url } = await qdrant(t, many.slice(0, 2), undefined, () => result);
    const { code, stderr } = await sheaf(...args(url), ...(result === 'hang up' ? [] : ['--replace']));
    assert.equal(code, 0, stderr);
  }
  const refusing = await startFakeServer(t, () => ({ status: 403, text: 'Must provide an API key' }));
  const refused = await sheaf(...args(refusing.url), '--from-key', 'wrong');
  assert.deepEqual([refused.code, refusing.requests[0]?.headers['api-key']], [1, 'wrong']);
  assert.match(refused.stderr, /HTTP 403: Must provide an API key\. Give its key with --from-key\.\n$/);
  const page = await startFakeServer(t, () => ({ text: '<html>' }));
  assert.match(
    (await sheaf(...args(page.url))).stderr,
    /does not answer with JSON: it is a different kind of server\.\n$/,
  );
  const absent = await sheaf(...args(`http://127.0.0.1:${await closedPort()}`));
  assert.equal(absent.code, 1);
  assert.match(
    absent.stderr,
    /No server answers at http:\/\/127\.0\.0\.1:\d+ \(ECONNREFUSED\)\. Start it, or give another address\.\n$/,
  );
});

test('a source that asks for a wait is asked again after it', async (t) => {
  const times: number[] = [];
  const { url } = await qdrant(t, many.slice(0, 2), undefined, () => {
    times.push(performance.now());
    return { status: 429, text: 'slower', headers: { 'retry-after': '1' } };
  });
  const { code, stderr } = await sheaf(
    url,
    '--from',
    'qdrant',
    '--from-collection',
    'notes',
    '-c',
    'slower',
    '--embed',
  );
  assert.equal(code, 0, stderr);
  assert.ok(performance.now() - times[0]! >= 1000);
});

test('an import with --embed that ended in the middle continues with --resume, and embeds nothing twice', async (t) => {
  const base = '/v1/collections/default/resumed';
  const countStored = async (): Promise<number> => (await server.call('GET', `${base}/detail`)).json.doc_count ?? 0;
  const third = many[512]!.id;
  let isBroken = true;
  const { url } = await qdrant(t, many, undefined, undefined, async ({ body }) => {
    if (!isBroken || !String(body).includes(`"offset":${third}`)) return undefined;
    await until(async () => (await countStored()) > 0, 'nothing is stored');
    return { status: 400, text: 'gone' };
  });
  const args = [url, '--from', 'qdrant', '--from-collection', 'notes', '-c', 'resumed', '--embed', '--resume'];
  const broken = await sheaf(...args);
  assert.equal(broken.code, 1);
  assert.match(broken.stderr, /HTTP 400: gone\. \(the same command with --resume continues after what is stored\)/);
  isBroken = false;
  const { code, stdout, stderr } = await sheaf(...args);
  assert.equal(code, 0, stderr);
  // The server may go on storing what it has received after the command has ended.
  const [sent, stored] = (/: (\d+) documents, (\d+) already stored, /.exec(stdout) ?? []).slice(1).map(Number);
  assert.ok(sent! >= many.length - 512 && stored! > 0 && sent! + stored! === many.length, stdout);
  assert.equal(await countStored(), many.length);
  assert.equal((await server.call('GET', `${base}/documents/1`)).json.version, 1);
});

test('Chroma: records page by page, with tenant, database and key', async (t) => {
  const base = '/api/v2/tenants/acme/databases/prod/collections';
  const chroma = await startFakeServer(t, ({ path, body }) => {
    if (path === `${base}/notes`)
      return { json: { id: 'c-1', dimension: DIM, configuration_json: { hnsw: { space: 'cosine' }, spann: null } } };
    if (path === `${base}/c-1/count`) return { json: 300 };
    if (path !== `${base}/c-1/get`) return { status: 404, json: { error: 'NotFoundError' } };
    const { limit, offset } = JSON.parse(String(body)) as { limit: number; offset: number };
    const rows = Array.from({ length: Math.max(0, Math.min(limit, 300 - offset)) }, (_, i) => offset + i);
    return {
      json: {
        ids: rows.map((row) => `note ${row}`),
        documents: rows.map((row) => (row === 7 ? null : `Text ${row}`)),
        metadatas: rows.map((row) => (row === 8 ? null : { row })),
        embeddings: rows.map(vectorOf),
      },
    };
  });
  const args = [
    '--from',
    'chroma',
    '--from-collection',
    'notes',
    '--from-database',
    'acme/prod',
    '--from-key',
    'secret',
  ];
  const { code, stdout, stderr } = await sheaf(chroma.url, ...args, '-c', 'chroma', '--embedder', 'tiny');
  assert.equal(code, 0, stderr);
  assert.match(stdout, /: 300 documents, /);
  assert.ok(chroma.requests.every(({ headers }) => headers['x-chroma-token'] === 'secret'));
  const { json } = await server.call('GET', '/v1/collections/default/chroma/documents/note%207');
  assert.deepEqual([json.metadata.row, json.chunk_ids], [7, ['note 7::0']]);
});
