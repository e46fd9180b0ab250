// An NDJSON ingest whose server is killed half-way: the command reports it, and continues behind what is stored when it
// is run again.
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
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

function ingest(
  url: string,
  ...flags: string[]
): { child: ChildProcess; ended: Promise<{ code: number | null; output: string }> } {
  const child = spawn(process.execPath, [MAIN, 'ingest', file, '--ndjson', '-c', 'many', '--url', url, ...flags], {
    env: { PATH: process.env.PATH },
  });
  after(() => child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => (output += piece.toString()));
  return { child, ended: once(child, 'close').then(([code]) => ({ code: code as number | null, output })) };
}

const countAt = async (url: string): Promise<number> =>
  ((await (await fetch(`${url}/v1/collections/default/many/detail`)).json()) as { doc_count?: number }).doc_count ?? 0;

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
  const { version } = (await (await fetch(`${again}/v1/collections/default/many/documents/d0`)).json()) as {
    version: number;
  };
  assert.equal(version, 1);
});
