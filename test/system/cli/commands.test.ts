// The commands of the command line against a real server, each in a separate process: what they print, their exit
// codes, and that the output of one is valid input of another.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { MAIN } from '../../kit/process.js';
import { startTestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';
import { until } from '../../kit/until.js';

const server = await startTestServer({ SHEAF_AUTH__MODE: 'static', SHEAF_AUTH__ADMIN_KEY: 'root' });
const env = { PATH: process.env.PATH, SHEAF_URL: server.url, SHEAF_API_KEY: 'root' };
const folder = tempDirectory();

interface Ran {
  code: number | null;
  out: string;
  err: string;
}

async function sheaf(
  args: string[],
  { input = '', key = 'root' }: { input?: string; key?: string } = {},
): Promise<Ran> {
  const child = spawn(process.execPath, [MAIN, ...args], { cwd: folder, env: { ...env, SHEAF_API_KEY: key } });
  let [out, err] = ['', ''];
  child.stdout.on('data', (piece: Buffer) => (out += piece.toString()));
  child.stderr.on('data', (piece: Buffer) => (err += piece.toString()));
  child.stdin.on('error', () => undefined).end(input);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out, err };
}

function write(files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

const linesOf = (text: string): any[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);

test('an ingest that is run again with --resume sends what has changed alone', async () => {
  write({
    'notes/a.md': 'Captain Nemo commands the Nautilus.',
    'notes/sub/b.md': 'Whales sing.',
    'notes/c.txt': 'Ned hunts.',
  });
  assert.match((await sheaf(['ingest', 'notes', '-c', 'notes'])).out, /^3 files/);
  const again = await sheaf(['ingest', 'notes', '-c', 'notes', '--resume']);
  assert.deepEqual([again.code, again.err], [0, '3 files already stored.\n']);
  await new Promise((resolve) => setTimeout(resolve, 20));
  write({ 'notes/sub/b.md': 'Whales sing no more.' });
  // The change is found although the file's modification time is old.
  utimesSync(join(folder, 'notes/sub/b.md'), 1, 1);
  assert.match((await sheaf(['ingest', 'notes', '-c', 'notes', '--resume'])).out, /^1 file /);
  const document = JSON.parse((await sheaf(['docs', 'show', 'sub/b.md', '-c', 'notes'])).out) as { version: number };
  assert.equal(document.version, 2);
});

test('a pattern takes what it matches, and --metadata is on every document', async () => {
  write({ 'p/x.md': 'x', 'p/q/y.md': 'y', 'p/z.txt': 'z' });
  const { out, err } = await sheaf(['ingest', 'p/**/*.md', '-c', 'patterns', '--metadata', '{"lang":"en"}']);
  assert.match(out, /^2 files/, err);
  assert.deepEqual((await sheaf(['docs', '-c', 'patterns', '--json'])).out.match(/"docid":"[^"]+"/g), [
    '"docid":"q/y.md"',
    '"docid":"x.md"',
  ]);
  assert.match((await sheaf(['search', 'x', '-c', 'patterns', '--filter', 'lang=en'])).out, /x\.md/);
  assert.equal((await sheaf(['search', 'x', '-c', 'patterns', '--filter', 'lang=de'])).out, 'No hits.\n');
  assert.deepEqual([(await sheaf(['ingest', 'p/**/*.rst'])).code, (await sheaf(['ingest', 'none/*.md'])).code], [2, 2]);
});

test('what is not there is said to be so where nothing was found', async () => {
  for (const args of [
    ['search', 'x', '-c', 'nowhere'],
    ['docs', '-c', 'nowhere'],
  ]) {
    const { code, err } = await sheaf(args);
    assert.deepEqual(
      [code, /^There is no collection default\/nowhere: .*sheaf collections lists the existing ones\.$/m.test(err)],
      [0, true],
      err,
    );
  }
  assert.equal((await sheaf(['search', 'x', '-c', 'patterns', '--filter', 'lang=de'])).err, '');
});

test('standard input is a document, or NDJSON of any length', async () => {
  const one = await sheaf(['ingest', '-', '--docid', 'piped.md', '-c', 'piped'], { input: '# Piped\n\nA text.' });
  assert.deepEqual([one.code, one.out], [0, 'piped.md (1 chunk) ingested into default/piped.\n']);
  assert.equal((await sheaf(['ingest', '-'], { input: 'x' })).code, 2);
  assert.equal((await sheaf(['ingest', '-', '--docid', 'x'])).code, 2);
  const lines = Array.from({ length: 500 }, (_, n) =>
    JSON.stringify({ docid: `d${n}`, text: `Number ${n}.`, metadata: { n } }),
  );
  const many = await sheaf(['ingest', '-', '--ndjson', '-c', 'many'], { input: lines.join('\n') });
  assert.deepEqual([many.code, /^500 documents \(500 chunks\)/.test(many.out)], [0, true], many.err);
});

test('NDJSON: bad lines are told by number, and --resume leaves out what is there', async () => {
  write({ 'x.ndjson': '{"docid":"a","text":"one"}\nnot JSON\n\n[]\n{"docid":"b"}\n{"docid":"c","text":"three"}\n' });
  const { code, out, err } = await sheaf(['ingest', 'x.ndjson', '--ndjson', '-c', 'lines']);
  assert.equal(code, 1);
  assert.match(out, /^2 documents \(2 chunks\) .*, 3 failed\.$/m);
  assert.match(err, /^line 2: not JSON .*\nline 4: not a JSON object\nline 5: .*\(invalid_item\)$/m);
  const again = await sheaf(['ingest', 'x.ndjson', '--ndjson', '-c', 'lines', '--resume']);
  assert.match(again.out, /^0 documents .*, 2 already stored, 3 failed\.$/m);
  write({ 'y.ndjson': '{"text":"no name"}' });
  assert.deepEqual(
    [
      (await sheaf(['ingest', 'y.ndjson', '--ndjson', '-c', 'lines', '--resume'])).code,
      (await sheaf(['ingest', 'none.ndjson', '--ndjson'])).code,
    ],
    [2, 2],
  );
});

test('collections are made, shown, renamed and deleted', async () => {
  assert.equal(
    (await sheaf(['collections', 'create', 'made', '--language', 'german', '--mode', 'hybrid', '--chunk-size', '100']))
      .code,
    0,
  );
  const shown = JSON.parse((await sheaf(['collections', 'show', 'made'])).out) as Record<string, any>;
  assert.deepEqual(
    [shown.language, shown.search_mode, shown.chunking],
    ['german', 'hybrid', { strategy: 'fixed', size: 100, overlap: 25 }],
  );
  assert.equal((await sheaf(['collections', 'create', 'vectors', '--dim', '3'])).code, 0);
  assert.equal((await sheaf(['collections', 'rename', 'made', 'renamed'])).code, 0);
  const names = linesOf((await sheaf(['collections', '--json'])).out).map(({ name }) => name as string);
  assert.deepEqual(
    names.filter((name) => ['made', 'renamed', 'vectors'].includes(name)),
    ['renamed', 'vectors'],
  );
  const unsure = await sheaf(['collections', 'delete', 'renamed']);
  assert.deepEqual([unsure.code, /--yes/.test(unsure.err)], [2, true]);
  assert.equal((await sheaf(['collections', 'delete', 'renamed', '--yes'])).code, 0);
  assert.equal((await sheaf(['collections', 'show', 'renamed'])).code, 1);
});

test('documents and chunks are shown and deleted', async () => {
  await sheaf(['ingest', '-', '--docid', 'd.txt', '-c', 'shown'], { input: 'A whale.' });
  assert.match((await sheaf(['docs', '-c', 'shown'])).out, /^\S+Z {2}v1 +1 {2}d\.txt\n$/);
  assert.equal((await sheaf(['docs', 'chunks', 'd.txt', '-c', 'shown'])).out, 'chunk_0  A whale.\n');
  const deleted = await sheaf(['docs', 'delete', 'd.txt', 'none', '-c', 'shown']);
  assert.deepEqual(
    [deleted.code, deleted.out, deleted.err],
    [1, 'd.txt is deleted, with 1 chunk.\n', 'none does not exist.\n'],
  );
});

test('searches are logged, run again, and compared', async () => {
  await sheaf(['ingest', 'notes', '-c', 'logged']);
  await sheaf(['search', 'submarine captain', '-c', 'logged']);
  const [entry] = linesOf((await sheaf(['log', '-c', 'logged', '--json'])).out);
  assert.equal(entry.query_text, 'submarine captain');
  assert.match((await sheaf(['log', entry.query_id, '-c', 'logged'])).out, /"result_ids"/);
  assert.match(
    (await sheaf(['replay', '-c', 'logged'])).out,
    /^1 search run again: mean overlap 1\.000, 0 with different hits/,
  );
  await sheaf(['docs', 'delete', 'a.md', '-c', 'logged']);
  const changed = await sheaf(['replay', '-c', 'logged', '--min-overlap', '0.9']);
  assert.deepEqual(
    [changed.code, /mean overlap 0\.667, 1 with different hits/.test(changed.out)],
    [1, true],
    changed.out,
  );
  assert.match(
    (await sheaf(['replay', entry.query_id, '-c', 'logged'])).out,
    /^now +before +chunk\n[\s\S]*gone +1 +a\.md::chunk_0/,
  );
});

test('an incremental backup in a folder is restored into another server, or refused whole', async (t) => {
  const backups = join(folder, 'backups');
  const original = await startTestServer({ SHEAF_BACKUPS__FOLDER: backups, SHEAF_BACKUPS__INCREMENTAL: 'true' });
  t.after(() => original.stop());
  const made = async (): Promise<string[]> => (await original.call('GET', '/v1/admin/backups')).json.backups;
  await until(async () => (await made()).length === 1);
  const documents = Array.from({ length: 100 }, (_, n) => ({ docid: `d${n}`, text: `Number ${n}. `.repeat(60) }));
  await original.call('POST', '/v1/collections/default/saved/documents:batch', { documents });
  await until(async () => {
    await original.call('POST', '/v1/admin/backups');
    return (await made()).length === 2;
  });
  const lists = readdirSync(backups).filter((name) => name.endsWith('.json'));
  const file = join('backups', lists.sort().at(-1) as string);
  const restored = await sheaf(['restore', file, '-c', 'saved']);
  assert.deepEqual([restored.code, / 100 documents/.test(restored.out)], [0, true], restored.err);
  const found = await sheaf(['docs', '-c', 'saved', '--json', '-n', '200']);
  assert.equal(linesOf(found.out).length, 100);

  rmSync(join(backups, 'entries'), { recursive: true });
  write({ 'other.json': '{"not": "a list"}', 'broken.json': '{' });
  for (const [name, reason] of [
    [file, /cannot be put together .*no such file/],
    ['other.json', /is not a list of entries/],
    ['broken.json', /is not a list of entries/],
  ] as const) {
    const { code, err } = await sheaf(['restore', name, '-c', 'saved', '--replace']);
    assert.equal(code, 1);
    assert.match(err, reason);
  }
  assert.equal(linesOf((await sheaf(['docs', '-c', 'saved', '--json', '-n', '200'])).out).length, 100);
});

test('keys are made for what they are for, and revoked', async () => {
  const missing = await sheaf(['keys', 'make', '-t', 'acme']);
  assert.deepEqual([missing.code, /--new-tenant/.test(missing.err)], [2, true]);
  const made = await sheaf([
    'keys',
    'make',
    '-t',
    'acme',
    '--new-tenant',
    '--label',
    'web',
    '--scope',
    'search',
    '--expires',
    '2099-01-01',
  ]);
  assert.match(made.err, /\(web\) of tenant acme, search until 2099-01-01T00:00:00\.000Z/);
  const key = made.out.trim();
  assert.equal((await sheaf(['search', 'x', '-t', 'acme'], { key })).code, 0);
  const refused = await sheaf(['ingest', 'notes', '-t', 'acme'], { key });
  assert.deepEqual([refused.code, /Use a key of this tenant/.test(refused.err)], [1, true]);
  const listed = linesOf((await sheaf(['keys', 'list', '-t', 'acme', '--json'])).out);
  assert.deepEqual(
    listed.map(({ label, revoked_at }) => [label, revoked_at === undefined]),
    [
      ['primary', false],
      ['web', true],
    ],
  );
  assert.equal((await sheaf(['keys', 'revoke', listed[1].key_id, '-t', 'acme'])).code, 0);
  assert.equal((await sheaf(['search', 'x', '-t', 'acme'], { key })).code, 1);
});

test('a reindex job is started, followed and listed', async () => {
  await sheaf(['ingest', 'notes', '-c', 'jobs']);
  const { code, out } = await sheaf(['reindex', 'start', '-c', 'jobs', '--compact']);
  assert.deepEqual([code, /has succeeded: 3 chunks\.$/m.test(out)], [0, true], out);
  assert.equal(linesOf((await sheaf(['reindex', '-c', 'jobs', '--json'])).out)[0].status, 'succeeded');
  assert.deepEqual(
    [(await sheaf(['reindex', 'start', '-c', 'jobs'])).code, (await sheaf(['reindex', 'rollback', '-c', 'jobs'])).code],
    [2, 1],
  );
});

test('a bench tells how fast searches are answered', async () => {
  const { code, out } = await sheaf(['bench', '-c', 'notes', '--seconds', '0.5', '--connections', '2', '--json']);
  const measured = JSON.parse(out) as Record<string, any>;
  assert.deepEqual(
    [code, measured.failed, measured.searches > 0, measured.latency_ms.p99 >= measured.latency_ms.p50],
    [0, 0, true, true],
  );
  const scheduled = JSON.parse(
    (await sheaf(['bench', '-c', 'notes', '--seconds', '1', '--rate', '20', '--json'])).out,
  ) as Record<string, any>;
  assert.equal(scheduled.searches, 20);
  assert.equal((await sheaf(['bench', '-c', 'empty', '--seconds', '0.5'])).code, 2);
  assert.equal((await sheaf(['bench', '-c', 'notes', '--seconds', '0.5', '--key', 'wrong'])).code, 1);
});

test('no internal error was logged', () => assert.deepEqual(server.faults, []));
