// The pages of docs/ as the server sends them below /docs: each page exists, its links lead somewhere, and it has the
// headers of a page that needs nothing from other servers.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { startTestServer } from '../../kit/server.js';

const server = await startTestServer({ SHEAF_AUTH__MODE: 'static', SHEAF_AUTH__ADMIN_KEY: 'root' });
const START = `${server.url}/docs/index`;

const addresses = readdirSync('docs', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => `/docs/${name.slice(0, -'.md'.length)}`);

test('every page of docs/ is served to everybody, with its title, its tag and a strict policy', async () => {
  assert.ok(addresses.length > 40);
  for (const address of ['/docs/index', '/docs/changelog', '/docs/contributing', ...addresses]) {
    const { status, headers, text } = await server.call('GET', address);
    assert.equal(status, 200, address);
    assert.match(text, /<title>[^<]+ · Sheaf [\d.]+<\/title>/);
    assert.match(text, /<h1[ >]/);
    assert.doesNotMatch(text, /<script|<style|style=|\son\w+="/);
    assert.equal(headers.get('content-type'), 'text/html; charset=utf-8');
    assert.equal(
      headers.get('content-security-policy'),
      "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    assert.equal(headers.get('cache-control'), 'no-cache');
    const again = await server.call('GET', address, undefined, { 'if-none-match': headers.get('etag') ?? '' });
    assert.equal(again.status, 304, address);
  }
});

test('the style has a digest in its name and is kept for a year; pages come in brotli', async () => {
  const { text } = await server.call('GET', '/docs/guide/quickstart');
  const style = /<link rel="stylesheet" href="\.\.\/(style-[0-9a-f]{8}\.css)">/.exec(text)?.[1];
  const { status, headers } = await server.call('GET', `/docs/${style}`);
  assert.equal(status, 200);
  assert.equal(headers.get('content-type'), 'text/css; charset=utf-8');
  assert.equal(headers.get('cache-control'), 'public, max-age=31536000, immutable');
  const packed = await fetch(START, { headers: { 'accept-encoding': 'br' } });
  assert.equal(packed.headers.get('content-encoding'), 'br');
  assert.match(await packed.text(), /Documentation/);
});

test('the API page stays where it is, and leads to the documentation', async () => {
  const { status, text } = await server.call('GET', '/docs');
  assert.equal(status, 200);
  assert.match(text, /swagger-ui-bundle\.js/);
  assert.match(text, /href="docs\/index"/);
});

test('other names are no pages', async () => {
  for (const path of [
    'none',
    'guide',
    'guide/none',
    'guide/quickstart.html',
    'guide/quickstart.md',
    'index.html',
    'index.html.br',
    'guide/..%2Findex',
    '..%2F..%2Fpackage.json',
    'guide/constructor',
    'guide/quickstart/more',
  ]) {
    const { status, json } = await server.call('GET', `/docs/${path}`);
    assert.equal(status, 404, path);
    assert.equal(json.code, 'not_found', path);
  }
});

test('every link of every page leads to a page, and to a heading that it has', async () => {
  const texts = new Map<string, string>();
  const pending = [START];
  const broken: string[] = [];
  const wanted: { from: string; page: string; id: string }[] = [];
  for (let url = pending.pop(); url !== undefined; url = pending.pop()) {
    if (texts.has(url)) continue;
    const response = await fetch(url);
    texts.set(url, await response.text());
    if (response.status !== 200) broken.push(`${url}: ${response.status}`);
    if (!url.startsWith(`${server.url}/docs/`) || !/html/.test(response.headers.get('content-type') ?? '')) continue;
    for (const [, href] of (texts.get(url) as string).matchAll(/(?:href|src)="([^"]+)"/g)) {
      const target = new URL(href as string, url);
      if (target.origin !== server.url) continue;
      const page = `${server.url}${target.pathname}`;
      pending.push(page);
      if (target.hash !== '') wanted.push({ from: url, page, id: decodeURIComponent(target.hash.slice(1)) });
    }
  }
  assert.deepEqual(broken, []);
  assert.deepEqual(
    wanted
      .filter(({ page, id }) => !texts.get(page)?.includes(`id="${id}"`))
      .map(({ from, page, id }) => `${from}: ${page}#${id}`),
    [],
  );
  const missing = addresses.filter((address) => !texts.has(`${server.url}${address}`));
  assert.deepEqual(missing, [], 'no page leads there');
});
