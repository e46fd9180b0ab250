// An NDJSON ingest whose server is killed half-way: the command reports it, and continues behind what is stored when it
// is run again. An import from Qdrant that is killed half-way continues as well.
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { startFakeServer } from '../../kit/fake-server.js';
import { MAIN, startServe } from '../../kit/process.js';
import { tempDirectory } from '../../kit/temp.js';

const DOCUMENTS = 40_000;
const folder = tempDirectory();
const file = join(folder, 'many.ndjson');
writeFileSync(
  file,
  Array.from(
    { length: DOCUMENTS },
    (_, n) => `${JSON.stringify({ docid: `d${n}`, text: `Number ${n} tells of the sea.` })}\n`,
  ).join(''),
);

interface Running {
  child: ChildProcess;
  ended: Promise<{ code: number | null; output: string }>;
}

const ingest = (url: string, ...flags: string[]): Running =>
  sheaf('ingest', file, '--ndjson', '-c', 'many', '--url', url, ...flags);

function sheaf(...args: string[]): Running {
  const child = spawn(process.execPath, [MAIN, ...args], { env: { PATH: process.env.PATH } });
  after(() => child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => (output += piece.toString()));
  return { child, ended: once(child, 'close').then(([code]) => ({ code: code as number | null, output })) };
}

const detailOf = async (url: string, path: string): Promise<{ doc_count?: number; version?: number }> =>
  (await (await fetch(`${url}/v1/collections/default/${path}`)).json()) as object;

const countAt = async (url: string, name = 'many'): Promise<number> =>
  (await detailOf(url, `${name}/detail`)).doc_count ?? 0;

test('after kill -9 of the server --resume sends the rest, and nothing twice', async () => {
  const dataDir = join(folder, 'data');
  const first = await startServe({ SHEAF_DATA_DIR: dataDir });
  const { url } = first;
  const { ended } = ingest(url);
  while ((await countAt(url)) < DOCUMENTS / 20) await new Promise((resolve) => setTimeout(resolve, 5));
  first.child.kill('SIGKILL');
  const broken = await ended;
  assert.equal(broken.code, 3, broken.output);
  assert.match(
    broken.output,
    /sheaf: No answer from .*documents ingested before; the same command with --resume continues after them/,
  );
  const { url: again } = await startServe({ SHEAF_DATA_DIR: dataDir });
  const stored = await countAt(again);
  assert.ok(stored > 0 && stored < DOCUMENTS, `${stored} of ${DOCUMENTS} were stored before the kill`);
  const { code, output } = await ingest(again, '--resume').ended;
  assert.equal(code, 0, output);
  assert.ok(
    output.includes(`${(DOCUMENTS - stored).toLocaleString('en-US')} documents (`) &&
      output.includes(`${stored.toLocaleString('en-US')} already stored`),
    output,
  );
  assert.equal(await countAt(again), DOCUMENTS);
  assert.equal((await detailOf(again, 'many/documents/d0')).version, 1);
});

const POINTS = 600;

/** A server of Qdrant whose collection has 600 points; it hangs before the last page until `hangs` is false. */
function startQdrant(state: { hangs: boolean }): ReturnType<typeof startFakeServer> {
  return startFakeServer({ after }, ({ path, body }) => {
    if (path === '/collections/notes')
      return {
        json: { result: { points_count: POINTS, config: { params: { vectors: { size: 1, distance: 'Cosine' } } } } },
      };
    const { limit, offset = 0 } = JSON.parse(String(body)) as { limit: number; offset?: number };
    const end = offset + limit;
    if (end >= POINTS && state.hangs) return 'never';
    const points = Array.from({ length: Math.min(limit, POINTS - offset) }, (_, i) => ({
      id: offset + i,
      payload: { text: `Note ${offset + i} tells of the sea.` },
      vector: [1],
    }));
    return { json: { result: { points, next_page_offset: end < POINTS ? end : null } } };
  });
}

test('after kill -9 of an import --resume brings the rest, and embeds nothing twice', async () => {
  const state = { hangs: true };
  const [{ url: source }, { url }] = await Promise.all([
    startQdrant(state),
    startServe({ SHEAF_DATA_DIR: join(folder, 'imported') }),
  ]);
  const args = ['import', source, '--from', 'qdrant', '-c', 'notes', '--embed', '--resume', '--url', url];
  const { child, ended } = sheaf(...args);
  while ((await countAt(url, 'notes')) < 512) await new Promise((resolve) => setTimeout(resolve, 5));
  child.kill('SIGKILL');
  assert.equal((await ended).code, null);
  state.hangs = false;
  const { code, output } = await sheaf(...args).ended;
  assert.equal(code, 0, output);
  assert.match(output, /: 88 documents, 512 already stored, /);
  assert.equal(await countAt(url, 'notes'), POINTS);
  assert.equal((await detailOf(url, 'notes/documents/0')).version, 1);
});
