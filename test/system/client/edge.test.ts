// The package `sheaf-client` in an edge runtime (that of Vercel), which has web APIs and nothing of Node, with a real
// server.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { EdgeVM } from '@edge-runtime/vm';
import { build } from 'esbuild';
import { startTestServer } from '../../kit/server.js';

const USE = (url: string): string => `(async () => {
  const { SheafClient, SheafNotFound } = sheaf;
  // Timers of the runtime keep the process.
  const client = new SheafClient({ url: '${url}', timeoutMs: 5000 });
  await client.ingestText('acme', 'docs', { docid: 'nemo', text: 'Captain Nemo commands the Nautilus.' });
  await client.ingestFile('acme', 'docs', { name: 'ahab.md', content: new Blob(['# Ahab']) });
  const stored = [];
  const lines = [{ docid: 'whale', text: 'A white whale.' }, { docid: 'ship', text: 'A ship.' }];
  for await (const { ok } of client.ingestStream('acme', 'docs', lines)) stored.push(ok);
  const { matches } = await client.search('acme', 'docs', { q: 'submarine captain', k: 1 });
  const missing = await client.getDocument('acme', 'docs', 'none').catch((error) => error instanceof SheafNotFound && error.code);
  const { documents } = await client.listDocuments('acme', 'docs', { metadata: true });
  return JSON.stringify([typeof process, typeof require, stored, matches[0].id, missing, documents.length]);
})()`;

test('sheaf-client in an edge runtime', async () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/client-package.mjs'], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  const entry = join(stdout.trim(), 'dist/index.js');
  // What a platform makes of the package: one script without imports.
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    format: 'iife',
    globalName: 'sheaf',
    conditions: ['edge-light', 'worker', 'browser'],
  });
  const server = await startTestServer();
  const edge = new EdgeVM();
  edge.evaluate(outputFiles[0]?.text ?? '');
  const answer = JSON.parse(await edge.evaluate<Promise<string>>(USE(server.url))) as unknown;
  assert.deepEqual(answer, ['undefined', 'undefined', [true, true], 'nemo::chunk_0', 'document_not_found', 4]);
});
