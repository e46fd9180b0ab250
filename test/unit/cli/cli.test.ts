// The whole command line in this process, against a local server that keeps what it receives. Ctrl-C is tested in a
// separate process.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { runInProcess, type Ran } from '../../kit/cli.js';
import { closedPort, readForm, startFakeServer, type Answer, type FakeRequest } from '../../kit/fake-server.js';
import { tempDirectory } from '../../kit/temp.js';

const INGESTED = { status: 201, json: { ok: true, chunks: 2 } };

const run = (args: string[], env: Record<string, string> = {}): Promise<Ran> =>
  runInProcess(args, { env, serve: async ({ SHEAF_SERVER__PORT: port }) => Number(port ?? 7) });

/** A server that holds no document; `ingest` answers ingests. */
const server = (t: TestContext, ingest: Answer) =>
  startFakeServer(t, (request) =>
    request.method === 'POST' && request.path.endsWith('/documents')
      ? ingest(request)
      : { json: { ok: true, matches: [] } },
  );

function folderWith(files: Record<string, string | Buffer>): string {
  const root = tempDirectory();
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(root, name, '..'), { recursive: true });
    writeFileSync(join(root, name), content);
  }
  return root;
}

async function sentDocuments(
  requests: FakeRequest[],
): Promise<{ docid: unknown; metadata: unknown; name: string; text: string }[]> {
  const forms = await Promise.all(requests.filter(({ path }) => path.endsWith('/documents')).map(readForm));
  const documents = await Promise.all(
    forms.map(async (form) => {
      const file = form.get('file') as File;
      return {
        docid: form.get('docid'),
        metadata: JSON.parse(String(form.get('metadata'))),
        name: file.name,
        text: await file.text(),
      };
    }),
  );
  return documents.sort((a, b) => (String(a.docid) < String(b.docid) ? -1 : 1));
}

test('ingest sends each text file with its relative path as document id and metadata', async (t) => {
  const { url, requests } = await server(t, () => INGESTED);
  const root = folderWith({ 'a.md': 'alpha', 'sub/a.md': 'beta', 'node_modules/p/README.md': 'no' });
  const { code, stdout, stderr } = await run(['ingest', root, '--url', url, '--tenant', 'acme', '-c', 'notes']);
  assert.equal(code, 0, stderr);
  assert.deepEqual(await sentDocuments(requests), [
    { docid: 'a.md', metadata: { path: 'a.md' }, name: 'a.md', text: 'alpha' },
    { docid: 'sub/a.md', metadata: { path: 'sub/a.md' }, name: 'a.md', text: 'beta' },
  ]);
  assert.equal(requests.at(-1)?.path, '/v1/collections/acme/notes/documents');
  assert.match(stdout, /^2 files \(4 chunks\) ingested into acme\/notes in /);
});

test('binary, empty and unsuitable files are left out by name, and are no failure', async (t) => {
  const { url, requests } = await server(t, async (request) => {
    const blank = ((await readForm(request)).get('file') as File).name === 'blank.md';
    return blank
      ? { status: 400, json: { ok: false, code: 'no_text_extracted', error: 'There is no text to index.' } }
      : INGESTED;
  });
  const root = folderWith({ 'a.md': 'alpha', 'b.png': Buffer.of(0x89, 0, 1), 'empty.md': '', 'blank.md': ' \n' });
  symlinkSync('..', join(root, 'loop'));
  const { code, stderr } = await run(['ingest', root, '--url', url, '--glob', '*.md', '--glob', '*.png']);
  assert.equal(code, 0);
  assert.match(stderr, /^Left out:$/m);
  for (const name of [
    'b.png: binary',
    'loop: link to a folder',
    'empty.md: empty',
    'blank.md: There is no text to index.',
  ])
    assert.ok(stderr.includes(`  ${name}\n`), stderr);
  assert.deepEqual(
    (await sentDocuments(requests)).map(({ docid }) => docid),
    ['a.md', 'blank.md'],
  );
});

test('failures are listed, the others are ingested, and the exit code is 1', async (t) => {
  const { url } = await server(t, async (request) => {
    const bad = (await readForm(request)).get('docid') === 'b.md';
    return bad
      ? { status: 413, json: { ok: false, code: 'file_too_large', error: 'The file is over the limit.' } }
      : INGESTED;
  });
  const { code, stdout, stderr } = await run([
    'ingest',
    folderWith({ 'a.md': 'a', 'b.md': 'b', 'c.md': 'c' }),
    '--url',
    url,
  ]);
  assert.equal(code, 1);
  assert.match(stderr, /^Failed:\n {2}b\.md: The file is over the limit\. \(file_too_large, HTTP 413\)$/m);
  assert.match(stdout, /^2 files .*, 1 failed\.$/m);
});

test('an ingest stops when every further file would meet the same error', async (t) => {
  const { url, requests } = await server(t, () => ({
    status: 401,
    json: { ok: false, code: 'auth_invalid', error: 'Unknown key.' },
  }));
  const files = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`${i}.md`, 'x']));
  const { code, stderr } = await run(['ingest', folderWith(files), '--url', url, '--concurrency', '2']);
  assert.equal(code, 1);
  assert.ok(requests.length < 10, `${requests.length} requests`);
  assert.match(
    stderr,
    /Stopped with \d+ files not sent\.\nUnknown key \(auth_invalid, HTTP 401\)\. Provide a key with --key or SHEAF_API_KEY\.\n$/,
  );
});

test('a connection that breaks over one file fails that file alone; a server that goes ends the ingest', async (t) => {
  let gone = false;
  const { url } = await startFakeServer(t, async (request) => {
    if (gone) return 'hang up';
    if (request.path === '/health') return { json: { ok: true } };
    const docid = String((await readForm(request)).get('docid'));
    gone = docid === 'd.md';
    return docid === 'b.md' || gone ? 'hang up' : INGESTED;
  });
  const root = folderWith(Object.fromEntries(['a', 'b', 'c', 'd', 'e', 'f'].map((name) => [`${name}.md`, 'x'])));
  const { code, stdout, stderr } = await run(['ingest', root, '--url', url, '--concurrency', '1']);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^Failed:\n {2}b\.md: No answer .*\n {2}d\.md: No answer .*\nStopped with 2 files not sent\.\nNo answer .* Start a server/m,
  );
  assert.match(stdout, /^2 files /);
});

test('the key comes from the option, else from the environment', async (t) => {
  const { url, requests } = await server(t, () => INGESTED);
  await run(['search', 'x', '--url', url], { SHEAF_API_KEY: 'from-env' });
  await run(['search', 'x', '--url', url, '--key', 'from-option'], { SHEAF_API_KEY: 'from-env' });
  await run(['search', 'x', '--url', url]);
  const searches = requests.filter(({ path }) => path.endsWith('/search'));
  assert.deepEqual(
    searches.map(({ headers }) => headers.authorization),
    ['Bearer from-env', 'Bearer from-option', undefined],
  );
});

test('the address comes from the option, else from the environment', async (t) => {
  const { url, requests } = await server(t, () => INGESTED);
  await run(['search', 'x'], { SHEAF_URL: url });
  await run(['search', 'x', '--url', url], { SHEAF_URL: 'http://127.0.0.1:1' });
  assert.equal(requests.filter(({ path }) => path.endsWith('/search')).length, 2);
});

test('search prints readable hits, or the answer as JSON', async (t) => {
  const answer = {
    ok: true,
    matches: [{ id: 'a.md::chunk_0', score: 0.5, text: 'Captain Nemo', meta: { path: 'sea/a.md' } }],
    mode: 'vector',
  };
  const { url, requests } = await startFakeServer(t, () => ({ json: answer }));
  const shown = await run(['search', 'captain', '--url', url, '-k', '3', '--mode', 'hybrid', '--common']);
  assert.equal(shown.stdout, ' 1. 0.500  sea/a.md  chunk_0\n    Captain Nemo\n');
  assert.deepEqual(JSON.parse(requests[0]!.body.toString()), {
    q: 'captain',
    k: 3,
    mode: 'hybrid',
    include_common: true,
    highlight: true,
  });
  const json = await run(['search', 'captain', '--url', url, '--json']);
  assert.deepEqual(JSON.parse(json.stdout), answer);
});

test('search passes on pages, groups, contexts, diversity and boosts, and shows contexts', async (t) => {
  const context = { text: 'Call me Ishmael. Captain Nemo', chunks: ['a.md::chunk_0', 'a.md::chunk_1'] };
  const match = { id: 'a.md::chunk_1', score: 0.5, text: 'Captain Nemo', meta: {}, match_reason: '', context };
  const { url, requests } = await startFakeServer(t, () => ({ json: { ok: true, matches: [match] } }));
  const flags = '--offset 5 --min-score 0.1 --group-by docid --group-size 2 --context 1 --diversity 0.5'.split(' ');
  flags.push('--boost-by', '{"fields":[{"field":"reads","weight":0.1}]}');
  const { stdout } = await run(['search', 'captain', '--url', url, ...flags]);
  assert.match(stdout, /Call me Ishmael. Captain Nemo/);
  const { q: _q, k: _k, highlight: _h, ...sent } = JSON.parse(requests[0]!.body.toString());
  assert.deepEqual(sent, {
    offset: 5,
    min_score: 0.1,
    group_by: 'docid',
    group_size: 2,
    context: 1,
    diversity: { lambda: 0.5 },
    boost_by: { fields: [{ field: 'reads', weight: 0.1 }] },
  });
});

test('demo ingests each README.md and runs five searches', async (t) => {
  const { url, requests } = await server(t, () => INGESTED);
  const root = folderWith({
    'a/README.md': 'a',
    'a/node_modules/b/README.md': 'b',
    'a/index.js': 'no',
    'c/readme.txt': 'no',
  });
  const { code, stdout } = await run(['demo', root, '--url', url]);
  assert.equal(code, 0);
  assert.deepEqual(
    (await sentDocuments(requests)).map(({ docid }) => docid),
    ['a/README.md', 'a/node_modules/b/README.md'],
  );
  assert.equal(requests.filter(({ path }) => path === '/v1/collections/default/demo/search').length, 5);
  assert.equal(stdout.match(/^sheaf search --collection demo "/gm)?.length, 5);
});

test('no server: one line that says what to do', async () => {
  const url = `http://127.0.0.1:${await closedPort()}`;
  for (const args of [['demo'], ['ingest', '.'], ['search', 'x']]) {
    const { code, stdout, stderr } = await run([...args, '--url', url]);
    assert.equal(code, 3);
    assert.equal(stdout, '');
    assert.match(
      stderr,
      /^sheaf: No answer from http:\/\/127\.0\.0\.1:\d+: ECONNREFUSED\. Start a server with "npm start", or name another with --url or SHEAF_URL\.\n$/,
    );
  }
});

test('what cannot be is refused with one line', async (t) => {
  const { url, requests } = await server(t, () => INGESTED);
  const empty = tempDirectory();
  const cases: [string[], RegExp][] = [
    [['search', 'x', '--url', 'localhost:8080'], /--url http:\/\/HOST:PORT/],
    [['search', 'x', '--url', url, '--tenant', '..'], /tenant slug/],
    [['search', 'x', '--url', url, '-k', '0'], /whole number from 1 to 1000/],
    [['search'], /missing required argument/],
    [['ingest', join(empty, 'nope'), '--url', url], /no such file or folder/],
    [['ingest', empty, '--url', url], /There is no file to ingest/],
    [['ingest', empty, '--url', url, '--glob', '{a'], /unbalanced bracket/],
    [['demo', join(empty, 'nope'), '--url', url], /There is no folder/],
    [['no-such-command'], /unknown command/],
    [['check', empty], /is not a data directory: it has no sheaf\.json\./],
    [['repair', join(empty, 'nope')], /is not a data directory/],
  ];
  for (const [args, message] of cases) {
    const { code, stderr } = await run(args);
    assert.equal(code, 2, args.join(' '));
    assert.match(stderr, message);
    assert.equal(stderr.trim().split('\n').length, 1, stderr);
  }
  assert.ok(requests.every(({ path }) => path === '/health'));
});

test('serve runs the given action with its options as variables, and passes its exit code on', async () => {
  assert.equal((await run(['serve'])).code, 7);
  assert.equal((await run(['serve', '--port', '9'])).code, 9);
});

test('help and version go to stdout with exit code 0', async () => {
  const help = await run(['--help']);
  assert.equal(help.code, 0);
  assert.match(help.stdout, /ingest .*demo .*search .*serve /s);
  assert.match((await run(['--version'])).stdout, /^\d+\.\d+\.\d+\n$/);
});

/** Starts the command line in a separate process, and collects what it writes to both streams. */
function spawnCli(t: TestContext, args: string[]) {
  const program = new URL('../../../src/cli/program.js', import.meta.url).href;
  const script = `import { runCli } from ${JSON.stringify(program)}; process.exitCode = await runCli(process.argv, { env: {}, serve: async () => 0 });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, 'sheaf', ...args]);
  t.after(() => child.kill('SIGKILL'));
  const ended = { text: '', code: new Promise((resolve) => child.once('close', resolve)) };
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => (ended.text += String(piece)));
  return { child, ended };
}

test('a reader that closes the pipe is no failure', async (t) => {
  const { url } = await server(t, () => INGESTED);
  const { child, ended } = spawnCli(t, ['demo', folderWith({ 'README.md': 'x' }), '--url', url]);
  child.stdout.destroy();
  assert.equal(await ended.code, 0, ended.text);
  assert.equal(ended.text, '');
});

test('Ctrl-C ends a bench that waits for its schedule, with the figures so far and exit code 130', async (t) => {
  const { url, requests } = await startFakeServer(t, () => ({ json: { ok: true, matches: [] } }));
  const queries = join(folderWith({ 'q.txt': 'a' }), 'q.txt');
  const { child, ended } = spawnCli(t, [
    'bench',
    '--url',
    url,
    '--queries',
    queries,
    '--rate',
    '1',
    '--seconds',
    '3600',
  ]);
  // The second request comes after the first has been counted.
  while (requests.length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
  child.kill('SIGINT');
  assert.equal(await ended.code, 130, ended.text);
  const told = Number(/(\d+) search(es)? in /.exec(ended.text)?.[1]);
  assert.ok(told >= 1 && told <= requests.length, `${requests.length} requests: ${ended.text}`);
});

test('Ctrl-C ends an ingest with a summary and exit code 130', async (t) => {
  let sent = 0;
  const { url } = await startFakeServer(t, ({ path }) => {
    if (path === '/health') return { json: { ok: true } };
    return ++sent <= 3 ? INGESTED : 'never';
  });
  const files = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`${i}.md`, 'x']));
  const { child, ended } = spawnCli(t, ['ingest', folderWith(files), '--url', url, '--concurrency', '2']);
  const watch = setInterval(() => {
    if (sent < 5) return;
    clearInterval(watch);
    child.kill('SIGINT');
  }, 20);
  assert.equal(await ended.code, 130, ended.text);
  assert.match(ended.text, /Stopped with 17 files not sent\./);
  assert.match(ended.text, /3 files \(6 chunks\) ingested into default\/docs/);
});
