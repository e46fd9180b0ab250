// The package `sheaf-client` in a real Chromium: a page of another origin imports it and uses a real server.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { CHROMIUM, openPage } from '../../kit/chromium.js';
import { startTestServer } from '../../kit/server.js';

const skip = CHROMIUM === undefined && "Debian's package chromium is absent";

const USE = (url: string): string => `(async () => {
  const { SheafClient, SheafNotFound } = await import('/index.js');
  const client = new SheafClient({ url: '${url}' });
  await client.ingestText('acme', 'docs', { docid: 'nemo', text: 'Captain Nemo commands the Nautilus.' });
  const file = { name: 'ahab.md', content: new Blob(['# Ahab']) };
  await client.ingestFile('acme', 'docs', file);
  const stored = [];
  const lines = [{ docid: 'whale', text: 'A white whale.' }, { docid: 'ship', text: 'A ship.' }];
  for await (const { ok } of client.ingestStream('acme', 'docs', lines)) stored.push(ok);
  const { matches } = await client.search('acme', 'docs', { q: 'submarine captain', k: 1 });
  const ids = [];
  for await (const { id } of client.eachHit('acme', 'docs', { q: 'whale', k: 2 })) ids.push(id);
  const missing = await client.getDocument('acme', 'docs', 'none').catch((error) => error instanceof SheafNotFound && error.code);
  const { bytes } = await client.archives.dumpCollection('acme', 'docs');
  const { counts } = await client.archives.restoreCollection('acme', 'copy', await new Response(bytes).blob());
  return JSON.stringify([stored, matches[0].id, ids.length, missing, counts.documents]);
})()`;

test('sheaf-client in a browser, from a page of another origin', { skip }, async (t) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/client-package.mjs'], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  const code = readFileSync(join(stdout.trim(), 'dist/index.js'));
  const site = createServer(({ url }, response) => {
    response.setHeader('content-type', url === '/index.js' ? 'text/javascript' : 'text/html');
    response.end(url === '/index.js' ? code : '<!doctype html><title>An application</title>');
  });
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  t.after(() => site.close());
  const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  const server = await startTestServer({ SHEAF_SERVER__CORS__ORIGINS: JSON.stringify([origin]) });
  const page = await openPage(t, origin);
  const answer = JSON.parse((await page.evaluate(USE(server.url))) as string) as unknown;
  assert.deepEqual(answer, [[true, true], 'nemo::chunk_0', 4, 'document_not_found', 4]);
  // A page whose origin is not named is refused by the browser.
  const stranger = await startTestServer();
  await assert.rejects(page.evaluate(USE(stranger.url)), /Failed to fetch|could not|network/i);
});
