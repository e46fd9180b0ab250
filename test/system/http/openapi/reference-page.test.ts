// The API reference page: its files, their headers, and how a real browser renders them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHROMIUM, openPage } from '../../../kit/chromium.js';
import { startTestServer } from '../../../kit/server.js';

const server = await startTestServer();

test('the page and its files come with type, tag and policy, and only they', async () => {
  for (const [path, type] of [
    ['/docs', /^text\/html/],
    ['/docs/start.js', /^text\/javascript/],
    ['/docs/swagger-ui-bundle.js', /^text\/javascript/],
    ['/docs/swagger-ui.css', /^text\/css/],
    ['/docs/favicon-32x32.png', /^image\/png/],
  ] as const) {
    const answer = await server.call('GET', path);
    assert.equal(answer.status, 200, path);
    assert.match(answer.headers.get('content-type') ?? '', type);
    assert.match(answer.headers.get('content-security-policy') ?? '', /^default-src 'none'; script-src 'self';/);
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
    const again = await server.call('GET', path, undefined, { 'if-none-match': answer.headers.get('etag') ?? '' });
    assert.equal(again.status, 304, path);
    assert.equal(again.headers.get('etag'), answer.headers.get('etag'));
  }
  for (const file of ['package.json', '..%2Fpackage.json', 'index.html', 'constructor'])
    assert.equal((await server.call('GET', `/docs/${file}`)).status, 404, file);
});

test('the page names each of its files, and nothing elsewhere', async () => {
  const { text } = await server.call('GET', '/docs');
  const links = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link]) => link as string);
  assert.equal(links.length, 7);
  for (const link of links) assert.equal((await server.call('GET', `/${link}`)).status, 200, link);
});

test('a browser shows every operation and asks no other host', {
  skip: CHROMIUM === undefined && 'the package chromium is not installed',
}, async (t) => {
  const page = await openPage(t, `${server.url}/docs`);
  const { json } = await server.call('GET', '/openapi.json');
  const operations = Object.values(json.paths as Record<string, object>).flatMap((methods) => Object.keys(methods));
  await page.until(`document.querySelectorAll('.opblock').length === ${operations.length}`);
  await page.evaluate(`document.querySelector('#operations-Search-search .opblock-summary-control').click()`);
  await page.until(`document.querySelector('#operations-Search-search .responses-table') !== null`);
  const shown = String(await page.evaluate(`document.querySelector('#operations-Search-search').innerText`));
  assert.match(shown, /submarine captain/);
  assert.match(shown, /match_reason/);
  assert.deepEqual(page.complaints, []);
  const hosts = new Set(page.requests.filter((url) => !url.startsWith('data:')).map((url) => new URL(url).origin));
  assert.deepEqual([...hosts], [server.url]);
});
