// `sheaf archive`, `sheaf restore` and `sheaf import` against a real server: the files, the exit codes and the
// messages.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import JSZip from 'jszip';
import { contentsOf } from '../../kit/archives.js';
import { runInProcess, type Ran } from '../../kit/cli.js';
import { closedPort, startFakeServer } from '../../kit/fake-server.js';
import { startOpenAiServer } from '../../kit/openai-server.js';
import { startTestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';

const PAVEDB_TEXTS = 'test/kit/data/pavedb-0.9.7-texts.zip';
const PAVEDB_VECTORS = 'test/kit/data/pavedb-0.9.7-vectors.zip';
const folder = tempDirectory();

const partsIn = (where: string): string[] => readdirSync(where).filter((name) => name.endsWith('.part'));
const sheaf = (url: string, ...args: string[]): Promise<Ran> => runInProcess([...args, '--url', url]);

const server = await startTestServer();
for (let n = 0; n < 6; n++)
  await server.call('POST', '/v1/collections/acme/docs/documents', {
    docid: `D${n}`,
    text: `Captain Nemo, number ${n}.`,
  });

test('a collection goes into a file, and comes back from it', async () => {
  const file = join(folder, 'docs.zip');
  const archived = await sheaf(server.url, 'archive', file, '-t', 'acme', '-c', 'docs');
  assert.deepEqual([archived.code, partsIn(folder)], [0, []], archived.stderr);
  assert.match(archived.stdout, /docs\.zip: [\d.]+ MB in /);
  const dry = await sheaf(server.url, 'restore', file, '-t', 'acme', '-c', 'copy', '--dry-run');
  assert.match(dry.stdout, /^acme\/copy can be restored from .*: 6 documents, 6 chunks, 0 logged searches/);
  const restored = await sheaf(server.url, 'restore', file, '-t', 'acme', '-c', 'copy');
  assert.deepEqual([restored.code, restored.stderr], [0, '']);
  assert.deepEqual(await contentsOf(server, 'acme', 'copy'), await contentsOf(server, 'acme', 'docs'));
  const again = await sheaf(server.url, 'restore', file, '-t', 'acme', '-c', 'copy');
  assert.deepEqual([again.code, /collection_exists/.test(again.stderr)], [1, true]);
  assert.equal((await sheaf(server.url, 'restore', file, '-t', 'acme', '-c', 'copy', '--replace')).code, 0);
});

test('a file that is there is not overwritten unless that is said', async () => {
  const file = join(folder, 'kept.zip');
  writeFileSync(file, 'precious');
  const refused = await sheaf(server.url, 'archive', file, '-t', 'acme', '-c', 'docs');
  assert.deepEqual(
    [refused.code, refused.stderr],
    [2, `sheaf: ${file} already exists: name another file, or use --force.\n`],
  );
  assert.equal(readFileSync(file, 'utf8'), 'precious');
  const forced = await sheaf(server.url, 'archive', file, '-t', 'acme', '-c', 'docs', '--force');
  assert.deepEqual([forced.code, partsIn(folder)], [0, []], forced.stderr);
  assert.equal(readFileSync(file, 'latin1').slice(0, 2), 'PK');
});

test('everything goes into a file, and takes the place of everything when that is said', async () => {
  const file = join(folder, 'all.zip');
  assert.equal((await sheaf(server.url, 'archive', file)).code, 0);
  const unsaid = await sheaf(server.url, 'restore', file);
  assert.deepEqual([unsaid.code, /--replace/.test(unsaid.stderr)], [2, true]);
  await server.call('DELETE', '/v1/collections/acme/docs');
  const restored = await sheaf(server.url, 'restore', file, '--replace');
  assert.deepEqual([restored.code, restored.stderr], [0, '']);
  assert.match(restored.stdout, /^everything restored from .*: 2 collections, 12 documents/);
  assert.equal((await server.call('GET', '/v1/collections/acme/docs/detail')).json.doc_count, 6);
});

test('an archive that leaves collections out is kept, and is a failure', async (t) => {
  const headers = { 'content-type': 'application/zip', 'x-service-skipped-collections': 'acme/broken, globex/gone' };
  const fake = await startFakeServer(t, () => ({ headers, text: 'PK' }));
  const file = join(folder, 'partial.zip');
  const { code, stderr } = await sheaf(fake.url, 'archive', file);
  assert.equal(code, 1);
  assert.match(stderr, /records are damaged: acme\/broken\n.*globex\/gone/);
  assert.equal(readFileSync(file, 'utf8'), 'PK');
});

test('a missing collection, a file that is no archive, and one that is not there are told in a line', async () => {
  const file = join(folder, 'none.zip');
  const missing = await sheaf(server.url, 'archive', file, '-t', 'acme', '-c', 'missing');
  assert.deepEqual([missing.code, existsSync(file), /collection_not_found/.test(missing.stderr)], [1, false, true]);
  writeFileSync(file, 'no zip');
  const bad = await sheaf(server.url, 'restore', file, '-t', 'acme', '-c', 'bad');
  assert.deepEqual([bad.code, /collection_archive_invalid/.test(bad.stderr)], [1, true]);
  const absent = await sheaf(server.url, 'restore', join(folder, 'absent.zip'), '-t', 'acme', '-c', 'bad');
  assert.deepEqual([absent.code, /cannot be read/.test(absent.stderr)], [2, true]);
});

test('a place that takes no file, one that may not be written, a folder in the place of an archive: a line each', async () => {
  mkdirSync(join(folder, 'folder.zip'));
  const cases: [string[], RegExp, code?: number][] = [
    [['archive', join(folder, 'nowhere', 'a.zip')], /a\.zip cannot be written: no such file or folder\.\n$/],
    [['archive', '/sys/a.zip'], /a\.zip cannot be written: no permission\.\n$/, 1],
    [['archive', join(folder, 'folder.zip')], /folder\.zip cannot be written: it is a folder\.\n$/],
    [['restore', join(folder, 'folder.zip'), '-c', 'docs'], /folder\.zip is not a file\. Name the archive\.\n$/],
    [['import', join(folder, 'folder.zip'), '-c', 'docs'], /folder\.zip is not a file\. Name the archive\.\n$/],
    [
      ['import', join(folder, 'nothing.zip'), '-c', 'docs'],
      /nothing\.zip cannot be read: no such file or folder\. Name the archive\.\n$/,
    ],
  ];
  for (const [args, message, expected = 2] of cases) {
    const { code, stderr } = await sheaf(server.url, ...args);
    assert.deepEqual([code, message.test(stderr)], [expected, true], stderr);
  }
});

test('an archive that breaks off is not kept, and no server answers', async (t) => {
  const fake = await startFakeServer(t, () => 'break off');
  const file = join(folder, 'broken.zip');
  const { code, stderr } = await sheaf(fake.url, 'archive', file);
  assert.deepEqual([code, existsSync(file), partsIn(folder)], [3, false, []]);
  assert.match(stderr, /^sheaf: No answer from .* \(the archive ended early and was not kept\)\. /);
  assert.equal((await sheaf(`http://127.0.0.1:${await closedPort()}`, 'archive', file)).code, 3);
});

test('a collection of vectors of PaveDB comes over', async () => {
  const { code, stdout, stderr } = await sheaf(
    server.url,
    'import',
    PAVEDB_VECTORS,
    '-t',
    'acme',
    '-c',
    'pave-vectors',
  );
  assert.deepEqual([code, stderr], [0, '']);
  assert.match(stdout, /: 3 documents, 3 chunks, 0 of the log/);
  const { json } = await server.call('POST', '/v1/collections/acme/pave-vectors/search', {
    v: [0.2, 0.5, -0.25, 1],
    k: 1,
  });
  assert.deepEqual([json.matches[0].id, json.matches[0].meta.n], ['V2::0', 2]);
  assert.ok(json.matches[0].score > 0.99999);
  assert.equal(
    (await server.call('GET', '/v1/collections/acme')).json.collections.some(({ name }: { name: string }) =>
      name.startsWith('import-'),
    ),
    false,
  );
});

test('an archive of PaveDB with a time that is none is refused in a line, and leaves nothing behind', async () => {
  const zip = await JSZip.loadAsync(readFileSync(PAVEDB_VECTORS));
  zip.file(
    'manifest.json',
    (await zip.file('manifest.json')!.async('string')).replace('2026-11-22T07:16:54Z', 'yesterday'),
  );
  const file = join(folder, 'yesterday.zip');
  writeFileSync(file, await zip.generateAsync({ type: 'nodebuffer' }));
  const { code, stderr } = await sheaf(server.url, 'import', file, '-t', 'acme', '-c', 'yesterday');
  assert.deepEqual([code, /^sheaf: .*yesterday\.zip: .*yesterday is not a time\.\n$/.test(stderr)], [2, true], stderr);
  assert.equal(
    (await server.call('GET', '/v1/collections/acme')).json.collections.some(({ name }: { name: string }) =>
      name.startsWith('import-'),
    ),
    false,
  );
});

test('a collection of texts of PaveDB comes over with settings and log, and nothing is embedded anew', async (t) => {
  const embeddings = await startOpenAiServer(t, { dim: 8 });
  const instances = [{ key: 'tiny', type: 'openai', model: 'tiny-embedding', dim: 8, url: embeddings.url, retries: 0 }];
  const texts = await startTestServer({ SHEAF_EMBEDDER__INSTANCES: JSON.stringify(instances) });
  const { code, stdout, stderr } = await sheaf(texts.url, 'import', PAVEDB_TEXTS, '-t', 'acme', '-c', 'texts');
  assert.deepEqual([code, stderr], [0, '']);
  assert.match(stdout, /^acme\/texts imported from .*: 5 documents, 9 chunks, 2 of the log/);
  const base = '/v1/collections/acme/texts';
  const { json: detail } = await texts.call('GET', `${base}/detail`);
  assert.deepEqual(
    [detail.display_name, detail.search_mode, detail.priority_key, detail.chunking, detail.created_at],
    [
      'Texts from elsewhere',
      'hybrid',
      'rank',
      { strategy: 'fixed', size: 200, overlap: 20 },
      '2026-11-22T07:17:27.000Z',
    ],
  );
  const { json: document } = await texts.call('GET', `${base}/documents/DOC_3`);
  assert.deepEqual(
    [document.version, document.ingested_at, document.chunk_ids],
    [1, '2026-11-22T07:17:27.000Z', ['DOC_3::chunk_0', 'DOC_3::chunk_1']],
  );
  assert.deepEqual(document.metadata, {
    docid: 'DOC_3',
    ingested_at: '2026-11-22T07:17:27Z',
    lang: 'en',
    n: 3,
    rank: 0.3,
    tags: ['a', 'b'],
  });
  assert.equal(
    (await texts.call('GET', `${base}/chunks/${encodeURIComponent('DOC_1::chunk_1')}/content`)).text,
    ' Land would rather be on land, and Conseil classifies all that swims by.',
  );
  const { json: queries } = await texts.call('GET', `${base}/queries`);
  assert.deepEqual(
    queries.queries.map(({ query_text, k, executed_at }: Record<string, unknown>) => [query_text, k, executed_at]),
    [
      ['organ', 2, '2026-11-22T07:17:28.327Z'],
      ['submarine captain', 3, '2026-11-22T07:17:28.208Z'],
    ],
  );
  const { json: entry } = await texts.call('GET', `${base}/queries/${queries.queries[1].query_id}`);
  assert.deepEqual(
    [entry.query.filters, entry.query.mode, entry.query.result_ids],
    [{ lang: 'en' }, 'hybrid', ['DOC_5::chunk_0', 'DOC_4::chunk_0', 'DOC_3::chunk_0']],
  );
  const archived = await texts.call('POST', `${base}/search`, {
    v: [-0.00275, 0.40943, -0.14564, 0.42591, 0.37645, 0.316, 0.22807, -0.57979],
    k: 1,
  });
  assert.deepEqual([archived.json.matches[0].id, archived.json.matches[0].score > 0.9999], ['DOC_1::chunk_0', true]);
  assert.deepEqual(
    embeddings.calls.flatMap(({ input }) => input).filter((text) => text.includes('Nemo')),
    [],
  );
});

test('no internal error was logged', () => assert.deepEqual(server.faults, []));
