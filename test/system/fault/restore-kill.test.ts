// kill -9 during a restore: after the restart there is the old collection or the new one, complete, and nothing of the
// shadow collection.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'node:test';
import { SheafClient } from '../../../src/client/client.js';
import { createPrng } from '../../../src/base/prng.js';
import { startServe } from '../../kit/process.js';
import { tempDirectory } from '../../kit/temp.js';

const DOCUMENTS = 1500;
const DIM = 64;
const CYCLES = 5;
const dataDir = tempDirectory();
const env = { SHEAF_DATA_DIR: dataDir };

async function start(): Promise<{ client: SheafClient; kill: () => Promise<void>; output: () => string }> {
  const server = await startServe(env);
  const kill = async (): Promise<void> => {
    server.child.kill('SIGKILL');
    await once(server.child, 'close');
  };
  return { client: new SheafClient({ url: server.url, retriesMax: 0 }), kill, output: server.output };
}

const vectorOf = (n: number): number[] => Array.from({ length: DIM }, (_, i) => Math.sin(n * 7 + i) + 2);

async function fill(client: SheafClient, label: string): Promise<void> {
  const documents = Array.from({ length: DOCUMENTS }, (_, n) => ({ docid: `${label}${n}`, vector: vectorOf(n) }));
  for (let at = 0; at < DOCUMENTS; at += 500) await client.ingestBatch('acme', 'docs', documents.slice(at, at + 500));
}

async function labels(client: SheafClient): Promise<string> {
  const { documents } = await client.listDocuments('acme', 'docs');
  return [...new Set(documents.map(({ docid }) => docid.slice(0, 3)))].join('+') + documents.length;
}

test('a kill in the midst of a restore leaves the old collection or the new one', async () => {
  const seed = Date.now() % 1e6;
  const prng = createPrng(seed);
  let { client, kill } = await start();
  const create = { embedder_type: 'identity', embedder_config: { dim: DIM } };
  await client.createCollection('acme', 'docs', create);
  await fill(client, 'NEW');
  const chunks: Uint8Array[] = [];
  for await (const piece of (await client.archives.dumpCollection('acme', 'docs'))
    .bytes as unknown as AsyncIterable<Uint8Array>)
    chunks.push(piece);
  const archive = new Blob(chunks as BlobPart[]);
  await client.deleteCollection('acme', 'docs');
  await client.createCollection('acme', 'docs', create);
  await fill(client, 'OLD');
  const startedAtMs = performance.now();
  assert.equal(
    (await client.archives.restoreCollection('acme', 'docs', archive, { replace: true, dryRun: true })).dry_run,
    true,
  );
  const verifyMs = performance.now() - startedAtMs;
  const seen: string[] = [];
  for (let cycle = 0; cycle < CYCLES; cycle++) {
    const restoring = client.archives.restoreCollection('acme', 'docs', archive, { replace: true }).then(
      () => 'restored',
      () => 'lost',
    );
    await sleep(verifyMs * (0.5 + 2 * prng.next()));
    await kill();
    const result = await restoring;
    const restarted = await start();
    ({ client, kill } = restarted);
    const found = await labels(client);
    seen.push(`${result}: ${found}`);
    assert.ok(
      found === `NEW${DOCUMENTS}` || (found === `OLD${DOCUMENTS}` && result === 'lost'),
      `seed ${seed}: ${seen.join(', ')}\n${restarted.output()}`,
    );
    const { matches } = await client.search('acme', 'docs', { v: vectorOf(3), k: 1 });
    assert.equal(matches[0]?.id.slice(0, 3), found.slice(0, 3));
    if (found.startsWith('NEW')) {
      await client.deleteCollection('acme', 'docs');
      await client.createCollection('acme', 'docs', create);
      await fill(client, 'OLD');
    }
  }
  await kill();
});
