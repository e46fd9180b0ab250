// Which key may call what: keys, their restrictions, and requests that come before the keys are loaded.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { AppError } from '../../../src/api/errors.js';
import type { Access } from '../../../src/api/route.js';
import type { Actor, Credentials } from '../../../src/service/tenants/actor.js';
import { authenticateBy, type Guarded } from '../../../src/service/tenants/auth.js';
import { keptAdminKey, KeyRing } from '../../../src/service/tenants/keys.js';

const NOW_MS = Date.parse('2026-01-01T00:00:00Z');
const ring = new KeyRing('root', [
  { name: 'alice', tenant: 'acme', key: 'k1' },
  { name: 'hashed', tenant: 'acme', key_sha256: createHash('sha256').update('k2').digest('hex') },
  { name: 'reader', tenant: 'acme', key: 'k4', scopes: ['search'] },
  { name: 'part', tenant: 'acme', key: 'k5', collections: ['docs'] },
  { name: 'user', tenant: 'acme', key: 'k6', filters: { owner: 'u1' } },
  { name: 'old', tenant: 'acme', key: 'k3', expires: '2025-12-31T23:59:59Z' },
]);
const known = { keys: ring, hasLoaded: () => true, nowMs: () => NOW_MS };
const authenticate = authenticateBy(known);
const request = (headers: Record<string, string>, tenant = 'acme'): Credentials => ({
  header: (name) => headers[name] ?? '',
  params: { tenant },
});

function codeOf(headers: Record<string, string>, access: Access, tenant?: string): string {
  return resultOf(request(headers, tenant), { access, operation: 'any' });
}

function resultOf(credentials: Credentials, route: Guarded): string {
  try {
    return `ok ${(authenticate(credentials, route) as Actor).name}`;
  } catch (error) {
    return (error as AppError).code;
  }
}

test('a key opens its own tenant, and nothing else', () => {
  assert.equal(codeOf({ authorization: 'Bearer k1' }, 'tenant'), 'ok alice');
  assert.equal(codeOf({ authorization: 'bEARER k1' }, 'any'), 'ok alice');
  assert.equal(codeOf({ 'x-api-key': 'k1' }, 'tenant'), 'ok alice');
  assert.equal(codeOf({ 'x-api-key': 'k2' }, 'tenant'), 'ok hashed');
  assert.equal(codeOf({ authorization: 'Bearer k1' }, 'tenant', 'other'), 'auth_forbidden');
  assert.equal(codeOf({ authorization: 'Bearer k1' }, 'admin'), 'admin_required');
  assert.equal(codeOf({ authorization: 'Bearer k1' }, 'metrics'), 'admin_required');
});

test('the admin key opens everything', () => {
  for (const access of ['tenant', 'admin', 'metrics', 'any'] as const)
    assert.equal(codeOf({ authorization: 'Bearer root' }, access, 'other'), 'ok admin');
});

test('no key, an empty one, an unknown one and an expired one are refused', () => {
  for (const key of ['', 'Bearer', 'Bearer ', 'Bearer nope', 'Basic k1', 'Bearer k3'])
    assert.equal(codeOf({ authorization: key }, 'tenant'), 'auth_invalid', key);
  assert.equal(codeOf({ 'x-api-key': '' }, 'tenant'), 'auth_invalid');
});

test('public routes ask for nothing', () => {
  assert.equal(codeOf({}, 'public'), 'ok anonymous');
});

const call = (key: string, params: Record<string, string>, route: Partial<Guarded>): string =>
  resultOf(
    { header: (name) => (name === 'x-api-key' ? key : ''), params: { tenant: 'acme', ...params } },
    { access: 'tenant', operation: 'x', ...route },
  );

test('a key with scopes does only what they name', () => {
  assert.equal(call('k4', {}, { scope: 'search' }), 'ok reader');
  assert.equal(call('k4', {}, {}), 'ok reader');
  for (const scope of ['ingest', 'manage'] as const) assert.equal(call('k4', {}, { scope }), 'auth_forbidden');
  for (const scope of ['search', 'ingest', 'manage'] as const) assert.equal(call('k1', {}, { scope }), 'ok alice');
});

test('a key with collections opens no other', () => {
  for (const parameter of ['name', 'collection']) {
    assert.equal(call('k5', { [parameter]: 'docs' }, {}), 'ok part');
    assert.equal(call('k5', { [parameter]: 'other' }, {}), 'auth_forbidden');
  }
  assert.equal(call('k5', {}, { operation: 'listCollections' }), 'ok part');
});

test('a key with filters may only search', () => {
  for (const operation of ['search', 'searchByQuery'])
    assert.equal(call('k6', { name: 'docs' }, { operation }), 'ok user');
  for (const operation of [
    'getDocument',
    'listDocuments',
    'listQueries',
    'replayQuery',
    'ingestDocument',
    'getCollection',
    'searchShared',
  ]) {
    assert.equal(call('k6', { name: 'docs' }, { operation }), 'auth_forbidden', operation);
  }
});

test('while the keys are being loaded an unknown one is told to come again, one that is configured works', () => {
  const early = authenticateBy({ ...known, hasLoaded: () => false });
  const route: Guarded = { access: 'tenant', operation: 'x' };
  assert.equal((early(request({ 'x-api-key': 'k1' }), route) as Actor).name, 'alice');
  assert.throws(() => early(request({ 'x-api-key': 'later' }), route), { code: 'not_ready' });
  assert.throws(() => early(request({}), route), { code: 'auth_invalid' });
});

test('the admin key is made once, readable by its owner alone', () => {
  const directory = mkdtempSync(join(tmpdir(), 'sheaf-key-'));
  const key = keptAdminKey(directory);
  assert.match(key, /^[\w-]{43}$/);
  assert.equal(keptAdminKey(directory), key);
  assert.equal(statSync(join(directory, 'admin.key')).mode & 0o777, 0o600);
  rmSync(directory, { recursive: true });
});
