// The router alone: what it splits, decodes, prefers and rejects.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../../../src/api/errors.js';
import { createRouter } from '../../../src/http/router.js';
import { ok, route } from '../../kit/http/probe-server.js';

const TEMPLATES = [
  ['GET', '/health'],
  ['GET', '/v1/collections/{tenant}'],
  ['POST', '/v1/collections/{tenant}/{name}'],
  ['GET', '/v1/collections/{tenant}/{collection}/documents'],
  ['POST', '/v1/collections/{tenant}/{collection}/documents'],
  ['POST', '/v1/collections/{tenant}/{collection}/documents:batch'],
  ['GET', '/v1/collections/{tenant}/{collection}/documents/{docid}'],
  ['DELETE', '/v1/collections/{tenant}/{collection}/documents/{docid}'],
  ['POST', '/v1/collections/{tenant}/{collection}/documents/import'],
  ['GET', '/v1/{kind}/own/detail'],
] as const;
const router = createRouter(TEMPLATES.map(([method, path]) => route(method, path, ok)));

const found = (method: string, path: string): [string, Record<string, string>] => {
  const match = router.match(method, path);
  return [match.route.path, { ...match.params }];
};

const clientError = (method: string, path: string): AppError => {
  try {
    router.match(method, path);
  } catch (error) {
    assert.ok(error instanceof AppError);
    return error;
  }
  return assert.fail(`${method} ${path} has a route`);
};

test('finds literals and parameters, each with the names of its own template', () => {
  assert.deepEqual(found('get', '/health'), ['/health', {}]);
  assert.deepEqual(found('get', '/v1/collections/acme'), ['/v1/collections/{tenant}', { tenant: 'acme' }]);
  assert.deepEqual(found('post', '/v1/collections/acme/books'), [
    '/v1/collections/{tenant}/{name}',
    { tenant: 'acme', name: 'books' },
  ]);
  const [, params] = found('get', '/v1/collections/acme/books/documents/d1');
  assert.deepEqual(params, { tenant: 'acme', collection: 'books', docid: 'd1' });
});

test('a literal with a colon is its own segment', () => {
  assert.equal(
    found('post', '/v1/collections/a/b/documents:batch')[0],
    '/v1/collections/{tenant}/{collection}/documents:batch',
  );
  assert.equal(clientError('post', '/v1/collections/a/b/documents:other').code, 'not_found');
});

test('splits first and decodes after', () => {
  const docid = 'a/b::c d%é';
  const [, params] = found('get', `/v1/collections/a/b/documents/${encodeURIComponent(docid)}`);
  assert.equal(params.docid, docid);
  assert.equal(found('get', '/v1/collections/a/b/documents/x%3A%3Ay')[1].docid, 'x::y');
  assert.equal(found('get', '/v1/collections/a/b/documents/a+b')[1].docid, 'a+b');
});

test('a literal beats a parameter, unless only the parameter takes the method', () => {
  assert.equal(
    found('post', '/v1/collections/a/b/documents/import')[0],
    '/v1/collections/{tenant}/{collection}/documents/import',
  );
  assert.deepEqual(found('delete', '/v1/collections/a/b/documents/import')[1].docid, 'import');
});

test('goes back to a parameter when a literal leads nowhere', () => {
  assert.deepEqual(found('get', '/v1/collections/own/detail'), ['/v1/{kind}/own/detail', { kind: 'collections' }]);
  assert.deepEqual(found('post', '/v1/collections/own/detail'), [
    '/v1/collections/{tenant}/{name}',
    { tenant: 'own', name: 'detail' },
  ]);
});

test('HEAD finds the GET route', () => {
  assert.equal(found('head', '/health')[0], '/health');
  assert.equal(clientError('head', '/v1/collections/a/b').code, 'method_not_allowed');
});

test('unknown paths, empty segments, trailing slashes and broken encoding are not found', () => {
  for (const path of [
    '/',
    '/nothing',
    '/health/',
    '//health',
    '/v1/collections/',
    '/v1/collections/a//documents',
    '/v1/collections/%zz',
    '/v1/collections/%ff',
    '/v1/collections/%',
  ]) {
    assert.equal(clientError('get', path).code, 'not_found', path);
  }
});

test('another method gets 405 with all that the path takes', () => {
  const allowed = (method: string, path: string): string | undefined => {
    const error = clientError(method, path);
    assert.equal(error.code, 'method_not_allowed');
    return error.options.headers?.Allow;
  };
  assert.equal(allowed('put', '/health'), 'GET, HEAD');
  assert.equal(allowed('options', '/v1/collections/a/b/documents'), 'GET, HEAD, POST');
  assert.equal(allowed('brew', '/v1/collections/a/b/documents/import'), 'POST, GET, HEAD, DELETE');
});

test('two routes for one place are a fault', () => {
  assert.throws(() => createRouter([route('GET', '/a/{x}', ok), route('GET', '/a/{y}', ok)]), /two routes/);
});
