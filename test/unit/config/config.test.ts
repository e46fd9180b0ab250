// The configuration from file and environment, and the message for each kind of mistake.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Config } from '../../../src/config/config.js';
import { CONFIG_KEYS, RENAMED_KEYS, RETIRED_KEYS, RETIRED_UNTIL, envNameOf } from '../../../src/config/keys.js';
import { readConfig } from '../../../src/config/load.js';

const directory = mkdtempSync(join(tmpdir(), 'sheaf-config-'));
after(() => rmSync(directory, { recursive: true }));

function warned(yaml: string, env: Record<string, string> = {}): { config: Config; warnings: string[] } {
  const file = join(directory, 'sheaf.yaml');
  writeFileSync(file, yaml);
  const warnings: string[] = [];
  const config = readConfig({ SHEAF_CONFIG: file, ...env }, (warning) => warnings.push(warning));
  return { config, warnings };
}

const withFile = (yaml: string, env?: Record<string, string>): Config => warned(yaml, env).config;

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

test('what Kubernetes sets for a service called sheaf is no key, and a port that somebody has named so is refused', () => {
  const links = {
    SHEAF_SERVICE_HOST: '10.96.139.42',
    SHEAF_SERVICE_PORT: '8080',
    SHEAF_SERVICE_PORT_HTTP: '8080',
    SHEAF_PORT: 'tcp://10.96.139.42:8080',
    SHEAF_PORT_8080_TCP: 'tcp://10.96.139.42:8080',
    SHEAF_PORT_8080_TCP_PROTO: 'tcp',
    SHEAF_PORT_8080_TCP_PORT: '8080',
    SHEAF_PORT_8080_TCP_ADDR: '10.96.139.42',
    SHEAF_NODES_SERVICE_HOST: '10.96.0.7',
  };
  assert.equal(readConfig({ ...links, SHEAF_SERVER__PORT: '9000' }).port, 9000);
  assert.throws(() => readConfig({ SHEAF_PORT: '8080' }), /^ConfigError: SHEAF_PORT is not a configuration key/);
});

test('a configuration file that is named must exist', () => {
  assert.throws(() => readConfig({ SHEAF_CONFIG: join(directory, 'none.yaml') }), { name: 'ConfigError' });
});

/** A value for a retired key: 3 for each key that still takes effect, and an invalid text for the others. */
const retiredValueOf = ({ kind }: (typeof RETIRED_KEYS)[number]): unknown => (kind ? 3 : '[');

for (const key of RETIRED_KEYS) {
  const { path, instead } = key;
  test(`${path} is retired: it is taken with a warning, from a file and from the environment`, () => {
    const value = retiredValueOf(key);
    const inFile = warned(`${path.replace(/\.(?=[^.]*$)/, ':\n  ')}: ${JSON.stringify(value)}\n`);
    const inEnv = warned('', { [envNameOf(path)]: String(value) });
    const inBoth = warned(`${path}: ${JSON.stringify(value)}\n`, { [envNameOf(path)]: String(value) });
    for (const { config, warnings } of [inFile, inEnv, inBoth]) {
      assert.equal(warnings.length, 1);
      for (const part of [path, envNameOf(path), instead]) assert.ok(warnings[0]?.includes(part), warnings[0]);
      if (!key.kind) assert.deepEqual(config, withFile(''));
    }
  });
}

for (const [path, now] of RENAMED_KEYS) {
  test(`${path} is called ${now} now: the old name counts with a warning, and gives way to the new one`, () => {
    const [oldYaml, newYaml] = [path, now].map(
      (name) => (value: number) => `${name.replace('.', ':\n  ')}: ${value}\n`,
    );
    const inFile = warned(oldYaml!(5000));
    const inEnv = warned('', { [envNameOf(path)]: '5000' });
    const inBoth = warned(oldYaml!(4000), { [envNameOf(path)]: '5000' });
    for (const { config, warnings } of [inFile, inEnv, inBoth]) {
      assert.equal(warnings.length, 1);
      for (const part of [path, envNameOf(path), now, envNameOf(now), RETIRED_UNTIL])
        assert.ok(warnings[0]?.includes(part), warnings[0]);
      assert.deepEqual(config, withFile(newYaml!(5000)));
    }
    assert.deepEqual(warned(newYaml!(5000), { [envNameOf(path)]: '6000' }).config, withFile(newYaml!(6000)));
    assert.deepEqual(
      warned('', { [envNameOf(now)]: '6000', [envNameOf(path)]: '5000' }).config,
      withFile(newYaml!(6000)),
    );
    assert.throws(() => withFile('', { [envNameOf(path)]: 'many' }), { name: 'ConfigError' });
  });
}

test('the retired keys of threads still count, one by one, and before `threads`', () => {
  const threads = (yaml: string, env: Record<string, string> = {}): unknown => {
    const { search, batch, embed } = withFile(yaml, env).threads;
    return [search, batch, embed.documents, embed.queries];
  };
  assert.deepEqual(threads('threads: 8\n'), [8, 2, 2, 2]);
  assert.deepEqual(threads('', { SHEAF_THREADS: '1' }), [1, 1, 1, 1]);
  assert.deepEqual(threads('threads: 100\n'), [48, 25, 25, 25]);
  const old = 'search:\n  threads: 3\nthreads:\n  embed: 4\n  embed_queries: 5\n  batch: 6\n';
  assert.deepEqual(threads(old), [3, 6, 4, 5]);
  assert.deepEqual(threads(old, { SHEAF_THREADS: '8', SHEAF_THREADS__BATCH: '7' }), [3, 7, 4, 5]);
  assert.deepEqual(threads('threads: 8\n', { SHEAF_THREADS__EMBED: '3' }), [8, 2, 3, 2]);
  assert.throws(() => threads('threads:\n  embed: many\n'), { name: 'ConfigError', message: /threads\.embed/ });
});

test('the text of a file has half the bound of a file, where that is more than 256 MiB', () => {
  const textBytesMax = (yaml: string): number => withFile(yaml).tuning.textBytesMax;
  assert.equal(textBytesMax(''), 2 ** 28);
  assert.equal(textBytesMax('limits:\n  max_file_bytes: 2048\n'), 2 ** 28);
  assert.equal(textBytesMax('limits:\n  max_file_bytes: 1073741824\n'), 2 ** 29);
});

test('retired keys are no keys any more, and go with the release that is named', () => {
  const paths = new Set(CONFIG_KEYS.map(({ path }) => path));
  assert.deepEqual(
    RETIRED_KEYS.filter(({ path }) => paths.has(path)),
    [],
  );
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [untilMajor = 0, untilMinor = 0] = RETIRED_UNTIL.split('.').map(Number);
  assert.ok(major < untilMajor || (major === untilMajor && minor < untilMinor), `${version}: take RETIRED_KEYS out`);
});

test('the page of the configuration has every key with its variable and default', () => {
  const page = readFileSync('docs/operations/configuration.md', 'utf8');
  for (const { path, fallback, fallbackText, meaning } of CONFIG_KEYS) {
    const row = `| \`${path}\` | \`${envNameOf(path)}\` | ${fallbackText ?? `\`${String(fallback)}\``} | ${meaning} |`;
    assert.ok(page.includes(row), `configuration.md lacks the row\n${row}`);
  }
});
