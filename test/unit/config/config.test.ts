// The configuration: file and environment, and the message for each kind of mistake.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { CONFIG_KEYS, envNameOf } from '../../../src/config/keys.js';
import { readConfig } from '../../../src/config/load.js';

const directory = mkdtempSync(join(tmpdir(), 'sheaf-config-'));
after(() => rmSync(directory, { recursive: true }));

function withFile(yaml: string, env: Record<string, string> = {}): ReturnType<typeof readConfig> {
  const file = join(directory, 'sheaf.yaml');
  writeFileSync(file, yaml);
  return readConfig({ SHEAF_CONFIG: file, ...env });
}

test('nothing given: loopback, port 8080, ./data', () => {
  const { host, port, dataDir, auth } = withFile('');
  assert.deepEqual([host, port, dataDir, auth.mode], ['127.0.0.1', 8080, './data', 'none']);
});

test('the environment wins over the file', () => {
  const config = withFile('server:\n  port: 9000\n  host: localhost\n', { SHEAF_SERVER__PORT: '9001' });
  assert.deepEqual([config.port, config.host], [9001, 'localhost']);
});

test('secrets from the environment stay text, tenants keep their case', () => {
  const env = {
    SHEAF_AUTH__MODE: 'static',
    SHEAF_AUTH__ADMIN_KEY: '0123',
    SHEAF_AUTH__KEYS: '[{"name":"a","tenant":"ACME","key":"77"}]',
  };
  const { auth } = withFile('', env);
  assert.equal(auth.adminKey, '0123');
  assert.deepEqual(auth.keys, [{ name: 'a', tenant: 'ACME', key: '77' }]);
});

const MISTAKES: [string, string, Record<string, string>, RegExp][] = [
  ['an unknown key', 'server:\n  prot: 1\n', {}, /server\.prot/],
  ['an unknown variable', '', { SHEAF_SERVER__PROT: '1' }, /SHEAF_SERVER__PROT/],
  [
    'a number out of range',
    'server:\n  port: 70000\n',
    {},
    /server\.port \(SHEAF_SERVER__PORT\) should be a whole number from 0 to 65535/,
  ],
  ['text for a number', '', { SHEAF_SERVER__PORT: 'http' }, /server\.port/],
  ['a number for text', 'data_dir: 7\n', {}, /data_dir/],
  ['no such choice', 'auth:\n  mode: open\n', {}, /auth\.mode.*none, static/],
  ['a file that is no mapping', '- a\n', {}, /mapping/],
  ['a file that is no YAML', 'a: [\n', {}, /not YAML/],
  ['a key without tenant', 'auth:\n  mode: static\n  keys: [{name: a, key: b}]\n', {}, /auth\.keys\[0\]\.tenant/],
  [
    'a key with both forms',
    'auth:\n  mode: static\n  keys: [{name: a, tenant: t, key: b, key_sha256: c}]\n',
    {},
    /exactly one/,
  ],
  [
    'an unknown field of a key',
    'auth:\n  mode: static\n  keys: [{name: a, tenant: t, key: b, admin: "yes"}]\n',
    {},
    /auth\.keys\[0\]\.admin/,
  ],
  ['another address without keys', 'server:\n  host: 0.0.0.0\n', {}, /auth\.mode/],
  ['keys without static mode', 'auth:\n  keys: [{name: a, tenant: t, key: b}]\n', {}, /auth\.mode is none/],
  [
    'no such scope',
    'auth:\n  mode: static\n  keys: [{name: a, tenant: t, key: b, scopes: [read]}]\n',
    {},
    /auth\.keys\[0\]\.scopes should be a list out of search/,
  ],
  [
    'filters that are no mapping',
    'auth:\n  mode: static\n  keys: [{name: a, tenant: t, key: b, filters: [c]}]\n',
    {},
    /auth\.keys\[0\]\.filters/,
  ],
  [
    'filters that no search can have',
    'auth:\n  mode: static\n  keys: [{name: a, tenant: t, key: b, filters: {c: {$like: x}}}]\n',
    {},
    /auth\.keys\[0\]\.filters/,
  ],
  [
    'a key given twice',
    'auth:\n  mode: static\n  keys: [{name: a, tenant: t, key: b}, {name: c, tenant: u, key: b}]\n',
    {},
    /auth\.keys\[1\] is the same key as auth\.keys\[0\]/,
  ],
  ['jwt without anything to check tokens by', 'auth:\n  mode: jwt\n', {}, /exactly one of auth\.jwt\.secret/],
  [
    'jwt with two ways to check tokens',
    'auth:\n  mode: jwt\n',
    { SHEAF_AUTH__JWT__SECRET: 'x'.repeat(32), SHEAF_AUTH__JWT__JWKS_FILE: 'keys.json' },
    /exactly one of/,
  ],
  [
    'a secret that is too short',
    'auth:\n  mode: jwt\n',
    { SHEAF_AUTH__JWT__SECRET: 'short' },
    /auth\.jwt\.secret should have at least 32 bytes/,
  ],
  [
    'a key file that is not there',
    'auth:\n  mode: jwt\n',
    { SHEAF_AUTH__JWT__PUBLIC_KEY_FILE: '/none.pem' },
    /auth\.jwt\.public_key_file/,
  ],
  [
    'a token secret in another mode',
    'auth:\n  mode: static\n',
    { SHEAF_AUTH__JWT__SECRET: 'x'.repeat(32) },
    /auth\.mode is static: set auth\.mode to jwt/,
  ],
  ['a common collection whose name is no slug', 'common:\n  collection: a/b\n', {}, /common\.collection/],
  ['an overlap over a quarter', 'chunking:\n  size: 100\n  overlap: 26\n', {}, /chunking\.overlap/],
];

for (const [what, yaml, env, message] of MISTAKES) {
  test(`${what} is refused by name`, () => {
    assert.throws(() => withFile(yaml, env), { name: 'ConfigError', message });
  });
}

test('a configuration file that is named must exist', () => {
  assert.throws(() => readConfig({ SHEAF_CONFIG: join(directory, 'none.yaml') }), { name: 'ConfigError' });
});

test('the README has every key with its variable and default', () => {
  const readme = readFileSync('README.md', 'utf8');
  for (const { path, fallback, fallbackText, meaning } of CONFIG_KEYS) {
    const row = `| \`${path}\` | \`${envNameOf(path)}\` | ${fallbackText ?? `\`${String(fallback)}\``} | ${meaning} |`;
    assert.ok(readme.includes(row), `README.md lacks the row\n${row}`);
  }
});
