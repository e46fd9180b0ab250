// A server without keys, and web pages in a browser on the same machine: the server's own pages and allowed origins may
// call it, others may not, and requests under other host names are not answered. Clients other than browsers are not
// affected.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RawClient, type RawReply } from '../../kit/http/raw-client.js';
import { startTestServer, type TestServer } from '../../kit/server.js';

const docs = '/v1/collections/acme/docs';
const server = await startTestServer();
const proxied = await startTestServer({
  SHEAF_SERVER__ALLOWED_HOSTS: 'Search.example.com, other.example:8443',
  SHEAF_SERVER__ALLOWED_ORIGINS: '["https://app.example.com"]',
});
const keyed = await startTestServer({ SHEAF_AUTH__MODE: 'static', SHEAF_AUTH__ADMIN_KEY: 'admin-key-of-the-test' });

async function ask(
  { port }: TestServer,
  method: string,
  path: string,
  headers: Record<string, string> = {},
): Promise<[number, unknown]> {
  const client = await RawClient.open(port);
  const body = method === 'POST' ? '{"text":"planted"}' : '';
  const length: Record<string, string> = body === '' ? {} : { 'Content-Length': String(body.length) };
  client.request(method, path, { Host: `127.0.0.1:${port}`, ...length, ...headers }, body);
  const reply: RawReply = await client.reply({ hasBody: method !== 'HEAD' });
  client.destroy();
  const isJson = reply.headers['content-type'] === 'application/json' && reply.body.length > 0;
  return [reply.status, isJson ? (JSON.parse(reply.body.toString()) as { code?: string }).code : undefined];
}

const FORBIDDEN = [403, 'auth_forbidden'];
const PLAIN = { 'Content-Type': 'text/plain' };

test('pages of other sites change nothing and read nothing', async () => {
  const sites: Record<string, string>[] = [
    { Origin: 'https://evil.example' },
    { Origin: 'null' },
    { Origin: 'http://evil.localhost.example' },
    { Origin: `http://127.0.0.1.evil.example:${server.port}` },
    { Origin: 'nonsense' },
    { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'none' },
    { 'Sec-Fetch-Site': 'cross-site' },
    { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'no-cors', 'Sec-Fetch-Dest': 'image' },
    { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'iframe' },
  ];
  for (const site of sites) {
    const told = JSON.stringify(site);
    assert.deepEqual(await ask(server, 'POST', `${docs}/documents`, { ...PLAIN, ...site }), FORBIDDEN, told);
    assert.deepEqual(await ask(server, 'POST', '/v1/collections/acme/made', { ...PLAIN, ...site }), FORBIDDEN, told);
    assert.deepEqual(await ask(server, 'DELETE', docs, site), FORBIDDEN, told);
    assert.deepEqual(await ask(server, 'GET', `${docs}/search?q=a`, site), FORBIDDEN, told);
    assert.deepEqual(await ask(server, 'POST', '/mcp', { ...PLAIN, ...site }), FORBIDDEN, told);
  }
  assert.equal((await server.call('GET', '/v1/collections/acme')).json.count, 0);
});

test('a form that another site sends is rejected, a link to the console is followed', async () => {
  const visit = { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document' };
  assert.deepEqual(await ask(server, 'POST', `${docs}/documents`, { ...PLAIN, ...visit }), FORBIDDEN);
  assert.deepEqual(await ask(server, 'GET', '/ui', visit), [200, undefined]);
});

test('names that lead here from elsewhere are not answered, whatever is asked', async () => {
  for (const host of [
    'evil.example',
    `evil.example:${server.port}`,
    'localhost.evil.example',
    '127.0.0.1.nip.example',
    'test',
  ])
    for (const path of ['/', '/ui', '/health', '/metrics', '/v1/collections/acme', '/nothing'])
      assert.deepEqual(await ask(server, 'GET', path, { Host: host }), FORBIDDEN, `${host} ${path}`);
});

test('the own pages, this machine, and clients that are no browsers are served', async () => {
  const port = server.port;
  for (const host of [
    `127.0.0.1:${port}`,
    `localhost:${port}`,
    'LOCALHOST',
    `[::1]:${port}`,
    'sheaf.localhost',
    '192.168.1.20:80',
  ])
    assert.deepEqual(await ask(server, 'GET', `${docs}/search?q=a`, { Host: host }), [200, undefined], host);
  const sites: Record<string, string>[] = [
    {},
    { Origin: `http://127.0.0.1:${port}`, 'Sec-Fetch-Site': 'same-origin' },
    { Origin: `http://localhost:${port}`, Host: `localhost:${port}` },
    { Origin: 'http://192.168.1.20:8080', Host: '192.168.1.20:8080' },
    { 'Sec-Fetch-Site': 'none', 'Sec-Fetch-Mode': 'navigate' },
    { 'Sec-Fetch-Mode': 'cors' },
  ];
  for (const site of sites)
    assert.deepEqual(await ask(server, 'GET', `${docs}/search?q=a`, site), [200, undefined], JSON.stringify(site));
});

test('a proxy that passes its name on, and pages of an allowed origin, are served once they are named', async () => {
  const served: Record<string, string>[] = [
    { Host: 'search.example.com' },
    { Host: 'SEARCH.example.com:8443', Origin: 'https://search.example.com:8443' },
    { Host: 'other.example:8443' },
    { Origin: 'https://app.example.com', 'Sec-Fetch-Site': 'cross-site' },
  ];
  for (const headers of served)
    assert.deepEqual(
      await ask(proxied, 'GET', `${docs}/search?q=a`, headers),
      [200, undefined],
      JSON.stringify(headers),
    );
  const refused: Record<string, string>[] = [
    { Host: 'other.example' },
    { Host: 'search.example.com', Origin: 'https://evil.example' },
    { Origin: 'http://app.example.com' },
  ];
  for (const headers of refused)
    assert.deepEqual(await ask(proxied, 'GET', `${docs}/search?q=a`, headers), FORBIDDEN, JSON.stringify(headers));
});

test('on a server with keys, the keys decide', async () => {
  const headers = { Host: 'search.example.com', Origin: 'https://evil.example', 'X-API-Key': 'admin-key-of-the-test' };
  assert.deepEqual(await ask(keyed, 'GET', `${docs}/search?q=a`, headers), [200, undefined]);
  assert.deepEqual(await ask(keyed, 'GET', `${docs}/search?q=a`, { Host: 'search.example.com' }), [
    401,
    'auth_invalid',
  ]);
});

test('browsers that open the bare address are led to the console', async () => {
  const response = await fetch(server.url, { redirect: 'manual', headers: { accept: 'text/html,*/*;q=0.8' } });
  assert.deepEqual([response.status, response.headers.get('location')], [302, 'ui']);
  assert.equal((await server.call('GET', '/')).json.code, 'not_found');
});
