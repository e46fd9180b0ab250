// No answer to a bad request shows the server's inside: no path of its machine, no message of a library, no other
// tenant. The test searches every answer to a long list of bad requests, headers included.
import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { leakComplaints } from '../../kit/conformance/check-reply.js';
import { ENDPOINTS } from '../../kit/conformance/statuses.js';
import { SECRET, whileBroken } from '../../kit/conformance/faults.js';
import { ADMIN_KEY, setStage, type Reply } from '../../kit/conformance/stage.js';
import { ALL_IN_THIS_THREAD, fileForm } from '../../kit/server.js';

const OTHER = 'the-other-tenant';
const KEYS = JSON.stringify([
  { name: 'app', tenant: 'acme', key: 'key-of-acme' },
  { name: 'other-app', tenant: OTHER, key: 'other-key' },
]);
const settings = { SHEAF_AUTH__MODE: 'static', SHEAF_AUTH__KEYS: KEYS };
const stage = await setStage(settings);
const { server } = stage;
await server.call(
  'POST',
  `/v1/collections/${OTHER}/their-secrets/documents`,
  { docid: 'THEIRS', text: 'a secret of theirs' },
  { authorization: 'Bearer other-key' },
);
const { json: theirs } = await server.call('GET', `/v1/collections/${OTHER}/their-secrets/search?q=secret`, undefined, {
  authorization: 'Bearer other-key',
});

const SECRETS = [
  server.dataDir,
  tmpdir(),
  process.cwd(),
  SECRET,
  OTHER,
  'their-secrets',
  'THEIRS',
  'other-app',
  ADMIN_KEY,
  'key-of-acme',
  'other-key',
];
const key = { authorization: 'Bearer key-of-acme' };
const ask = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Reply> =>
  stage.send(method, { path, body, headers: { ...key, ...headers } });

function check(reply: Reply, what: string): void {
  assert.ok(reply.status >= 200);
  assert.deepEqual(leakComplaints(reply, SECRETS), [], `${what}: ${reply.status} ${reply.text.slice(0, 500)}`);
}

const DOCS = '/v1/collections/acme/docs';
const BAD_BODIES: readonly unknown[] = [
  '',
  '{',
  '{"q":',
  'null',
  '[]',
  '"x"',
  '{"q":1}',
  '{"__proto__":{"q":"x"}}',
  '{"q":"x","k":"'.concat('9'.repeat(50), '"}'),
  '\u0000',
  '{"q":"\\ud800"}',
  `{"q":${'['.repeat(20_000)}`,
];
const BAD_PATHS = [
  '/%',
  '/%00',
  '/%2e%2e/%2e%2e/etc/passwd',
  '/../../etc/passwd',
  '/v1/collections/%2Fetc',
  '/v1/collections/acme/..%2F..',
  `${DOCS}/documents/..%2F..%2Fetc%2Fpasswd`,
  `${DOCS}/chunks/%FF`,
  `${DOCS}/chunks/a%00b/content`,
  `${DOCS}/queries/'%20OR%201=1`,
  '/node_modules/typia/package.json',
  '/docs/../../package.json',
  '/docs/%2e%2e/%2e%2e/package.json',
  '/v1/collections/$(id)',
  '//etc/passwd',
];

test('bad bodies on every endpoint that takes one', async () => {
  for (const endpoint of ENDPOINTS.filter(({ method }) => method === 'POST' || method === 'PATCH')) {
    const { path } = await endpoint.valid({ ...stage, fresh: () => Promise.resolve('docs') });
    for (const body of BAD_BODIES)
      check(await ask(endpoint.method, path, body), `${endpoint.method} ${path} ${String(body).slice(0, 40)}`);
  }
});

test('bad paths, with every method', async () => {
  for (const path of BAD_PATHS)
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'HEAD']) check(await ask(method, path), `${method} ${path}`);
});

test('files that are not what they say', async () => {
  const garbage = Buffer.from(Array.from({ length: 2000 }, (_, i) => (i * 7919) % 256));
  for (const type of [
    'pdf',
    'docx',
    'pptx',
    'xlsx',
    'odt',
    'epub',
    'eml',
    'csv',
    'tsv',
    'json',
    'jsonl',
    'html',
    'zip',
    'exe',
    'txt',
    'md',
  ]) {
    for (const content of [
      garbage,
      Buffer.from('PK\u0003\u0004 not a zip'),
      Buffer.from('%PDF-1.7 not a pdf'),
      Buffer.alloc(0),
    ]) {
      check(
        await ask(
          'POST',
          `${DOCS}/documents?csv_meta_cols=nothing`,
          fileForm(`../../etc/wrong.${type}`, content, { docid: 'LEAK' }),
        ),
        type,
      );
    }
  }
});

test('malformed forms and content types', async () => {
  for (const type of [
    'multipart/form-data',
    'multipart/form-data; boundary=x',
    'multipart/form-data; boundary=',
    'application/x-ndjson',
    'text/plain',
    'application/json; charset=utf-7',
    '\u00ff',
  ]) {
    for (const body of [
      '--x\r\n',
      '--x\r\nContent-Disposition: form-data; name="file"; filename="../../x"\r\n\r\n--x',
      '{}',
      '\n\n',
    ]) {
      for (const path of ['documents', 'documents:batch', 'search'])
        check(await ask('POST', `${DOCS}/${path}`, body, { 'content-type': type }), `${path} ${type}`);
    }
  }
});

test('what belongs to another tenant: its paths, its searches by id, its names', async () => {
  for (const path of [
    `/v1/collections/${OTHER}`,
    `/v1/collections/${OTHER}/their-secrets/detail`,
    `${DOCS}/queries/${theirs.query_id}`,
    `/v1/admin/queries/${theirs.query_id}`,
    '/v1/admin/tenants',
    '/v1/search?q=secret',
    `${DOCS}/search?q=secret&include_common=true`,
    '/v1/embedders/acme',
    '/v1/collections/acme',
    '/metrics',
    '/health/metrics',
    '/health',
    '/health/ready',
    '/openapi.json',
  ]) {
    check(await ask('GET', path), path);
  }
});

test('a fault of the server itself', async () => {
  const broken = await setStage({ ...settings, ...ALL_IN_THIS_THREAD });
  for (const endpoint of ENDPOINTS.filter(({ access }) => access === 'tenant')) {
    const { path, body } = await endpoint.valid({ ...broken, fresh: () => Promise.resolve('docs') });
    const reply = await whileBroken(broken.server, () => broken.send(endpoint.method, { path, body, headers: key }));
    assert.ok(reply.status >= 400, `${endpoint.path}: ${reply.status}`);
    check(reply, `${endpoint.method} ${endpoint.path}`);
  }
});
