// Mode static: who may call what.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { AppError } from '../../src/contract/errors.js';
import type { Access, Credentials } from '../../src/tenants/actor.js';
import { authenticateByKey } from '../../src/tenants/authenticate.js';
import { keptAdminKey, KeyRing } from '../../src/tenants/keys.js';

const NOW_MS = Date.parse('2026-01-01T00:00:00Z');
const ring = new KeyRing('root', [
  { name: 'alice', tenant: 'acme', key: 'k1' },
  { name: 'hashed', tenant: 'acme', key_sha256: createHash('sha256').update('k2').digest('hex') },
  { name: 'old', tenant: 'acme', key: 'k3', expires: '2025-12-31T23:59:59Z' },
]);
const authenticate = authenticateByKey(ring, () => NOW_MS);
const request = (headers: Record<string, string>, tenant = 'acme'): Credentials => ({ header: (name) => headers[name] ?? '', params: { tenant } });

function codeOf(headers: Record<string, string>, access: Access, tenant?: string): string {
  try {
    return `ok ${authenticate(request(headers, tenant), { access }).name}`;
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
  for (const access of ['tenant', 'admin', 'metrics', 'any'] as const) assert.equal(codeOf({ authorization: 'Bearer root' }, access, 'other'), 'ok admin');
});

test('no key, an empty one, an unknown one and an expired one are refused', () => {
  for (const key of ['', 'Bearer', 'Bearer ', 'Bearer nope', 'Basic k1', 'Bearer k3']) assert.equal(codeOf({ authorization: key }, 'tenant'), 'auth_invalid', key);
  assert.equal(codeOf({ 'x-api-key': '' }, 'tenant'), 'auth_invalid');
});

test('public routes ask for nothing', () => {
  assert.equal(codeOf({}, 'public'), 'ok anonymous');
});

test('the admin key is made once, readable by its owner alone', () => {
  const directory = mkdtempSync(join(tmpdir(), 'sheaf-key-'));
  const key = keptAdminKey(directory);
  assert.match(key, /^[\w-]{43}$/);
  assert.equal(keptAdminKey(directory), key);
  assert.equal(statSync(join(directory, 'admin.key')).mode & 0o777, 0o600);
  rmSync(directory, { recursive: true });
});
