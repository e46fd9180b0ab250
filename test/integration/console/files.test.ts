// The console's files as the server sends them: types, content security policy, caching, compression, their size; and
// that they compile.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { brotliDecompressSync, gzipSync } from 'node:zlib';
import { startTestServer } from '../../kit/server.js';

const FOLDER = 'dist/src/console/page';
/** The limit for all files together, compressed. */
const BYTES_MAX = 110_000;
const MAP_BYTES_MAX = 60_000;

const server = await startTestServer({ SHEAF_AUTH__MODE: 'static', SHEAF_AUTH__ADMIN_KEY: 'root' });
const names = readdirSync(FOLDER).filter((name) => !name.endsWith('.br'));
const page = (await server.call('GET', '/ui')).text;

test('page and files come to everybody, with type, tag and a policy that lets nothing in from elsewhere', async () => {
  for (const path of ['/ui', ...names.filter((name) => name !== 'index.html').map((name) => `/ui/${name}`)]) {
    const { status, headers } = await server.call('GET', path);
    assert.equal(status, 200, path);
    assert.match(
      headers.get('content-type') ?? '',
      path === '/ui' ? /^text\/html/ : path.endsWith('.css') ? /^text\/css/ : /^text\/javascript/,
    );
    assert.equal(
      headers.get('content-security-policy'),
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    assert.equal(headers.get('cache-control'), path === '/ui' ? 'no-cache' : 'public, max-age=31536000, immutable');
    const again = await server.call('GET', path, undefined, { 'if-none-match': headers.get('etag') ?? '' });
    assert.equal(again.status, 304, path);
  }
});

test('an address that ends with a slash leads to the page, with the same policy', async () => {
  for (const asked of ['', '?tenant=acme']) {
    const { status, url, headers } = await fetch(`${server.url}/ui/${asked}`, { redirect: 'manual' });
    assert.deepEqual([status, new URL(headers.get('location') ?? '', url).href], [308, `${server.url}/ui${asked}`]);
    assert.match(headers.get('content-security-policy') ?? '', /^default-src 'none'/);
  }
  assert.equal((await server.call('GET', '/ui/')).text, page);
});

test('other names are no files', async () => {
  for (const name of ['index.html', 'main.tsx', '..%2Fpackage.json', 'constructor', `${names[0]}.br`])
    assert.equal((await server.call('GET', `/ui/${name}`)).status, 404, name);
});

test('the page names its files, and has no script or style inside', async () => {
  const links = [...page.matchAll(/(?:src|href)="(ui\/[^"]+)"/g)].map(([, link]) => link as string);
  assert.ok(links.length >= 3, page);
  for (const link of links) assert.equal((await server.call('GET', `/${link}`)).status, 200, link);
  assert.doesNotMatch(page, /<script>|<style|style=|\son\w+=|https?:\/\/(?!www\.w3\.org)/);
});

test('brotli where the browser takes it, the same bytes; else gzip or plain', async () => {
  const [script] = [...page.matchAll(/src="(ui\/[^"]+)"/g)].map(([, link]) => link as string);
  const plain = readFileSync(join(FOLDER, (script as string).slice(3)));
  for (const [accept, coding] of [
    ['br, gzip', 'br'],
    ['gzip', 'gzip'],
    ['identity', undefined],
    ['br;q=0.1, gzip', 'gzip'],
  ] as const) {
    const { headers, bytes } = await rawGet(`${server.url}/${script}`, accept);
    assert.equal(headers['content-encoding'], coding, accept);
    assert.match(String(headers.vary), /accept-encoding/i);
    if (coding === 'br') assert.deepEqual(brotliDecompressSync(bytes), plain);
    if (coding === undefined) assert.deepEqual(bytes, plain);
  }
});

/** A GET that keeps the content coding, which fetch would remove. */
function rawGet(url: string, acceptEncoding: string): Promise<{ headers: Record<string, unknown>; bytes: Buffer }> {
  return new Promise((resolve, reject) => {
    request(url, { headers: { 'accept-encoding': acceptEncoding } }, (response) => {
      const chunks: Buffer[] = [];
      response
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .on('end', () => resolve({ headers: response.headers, bytes: Buffer.concat(chunks) }))
        .on('error', reject);
    })
      .on('error', reject)
      .end();
  });
}

test('all of it is less than 110 kB, even by gzip, and the map, which brings its libraries, less than 60 kB', () => {
  const bytesOf = (of: readonly string[]): number =>
    of.reduce((sum, name) => sum + gzipSync(readFileSync(join(FOLDER, name))).length, 0);
  const isOfMap = (name: string): boolean => name.startsWith('map-view');
  const [rest, map] = [names.filter((name) => !isOfMap(name)), names.filter(isOfMap)].map(bytesOf) as [number, number];
  assert.ok(rest < BYTES_MAX, `${rest} bytes`);
  assert.ok(map > 0 && map < MAP_BYTES_MAX, `${map} bytes`);
});

test('it compiles: the build leaves types unchecked', () => {
  const { status, stdout } = spawnSync(
    process.execPath,
    ['node_modules/typescript/bin/tsc', '-p', 'src/console', '--noEmit'],
    { encoding: 'utf8' },
  );
  assert.equal(status, 0, stdout);
});
