// Fields of the lists in the configuration, and those of HTTP endpoints: each way in which one can be wrong. The
// message names the place and never contains a secret.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ENDPOINT_FIELDS, endpointOf } from '../../../src/config/embedders.js';
import { checkedMapping, choice, filledText, flag, integer, optional, or, texts } from '../../../src/config/kinds.js';
import { readConfig } from '../../../src/config/load.js';
import type { EndpointSpec } from '../../../src/embedding/embedder-spec.js';
import { tempDirectory } from '../../kit/temp.js';

const AT = 'embedder.instances[0]';
const FIELDS = {
  key: filledText,
  type: or(choice('onnx', 'openai'), 'onnx'),
  dim: optional(integer(1, 4096)),
  send: or(flag, false),
  tenants: optional(texts),
};

test('a mapping gets its fallbacks; null is absent', () => {
  assert.deepEqual(checkedMapping(AT, { key: 'a', dim: null }, FIELDS), {
    key: 'a',
    type: 'onnx',
    dim: undefined,
    send: false,
    tenants: undefined,
  });
  const given = { key: '7', type: 'openai', dim: 4096, send: true, tenants: ['acme'] };
  assert.deepEqual(checkedMapping(AT, given, FIELDS), given);
});

const WRONG_FIELDS: [string, Record<string, unknown>, string][] = [
  ['a missing field', {}, '.key is missing'],
  ['a field left blank', { key: null }, '.key is missing'],
  [
    'a field that is not there',
    { key: 'a', dims: 3 },
    '.dims: there is no such field; the fields are key, type, dim, send, tenants',
  ],
  [
    'a field that every object has',
    { key: 'a', constructor: 3 },
    '.constructor: there is no such field; the fields are key, type, dim, send, tenants',
  ],
  ['a number for text', { key: 7 }, '.key should be text (in YAML: in quotes), not 7'],
  ['empty text', { key: '' }, '.key should be text (in YAML: in quotes), not ""'],
  ['no such choice', { key: 'a', type: 'gguf' }, '.type should be one of onnx, openai, not "gguf"'],
  ['a choice in capitals', { key: 'a', type: 'ONNX' }, '.type should be one of onnx, openai, not "ONNX"'],
  ['a number in quotes', { key: 'a', dim: '256' }, '.dim should be a whole number from 1 to 4096, not "256"'],
  ['a fraction', { key: 'a', dim: 1.5 }, '.dim should be a whole number from 1 to 4096, not 1.5'],
  ['a number below', { key: 'a', dim: 0 }, '.dim should be a whole number from 1 to 4096, not 0'],
  ['a number above', { key: 'a', dim: 4097 }, '.dim should be a whole number from 1 to 4096, not 4097'],
  ['a word for true', { key: 'a', send: 'yes' }, '.send should be true or false, not "yes"'],
  ['text for a list', { key: 'a', tenants: 'acme' }, '.tenants should be a list of texts, not "acme"'],
  ['an empty list', { key: 'a', tenants: [] }, '.tenants should be a list of texts, not []'],
  ['a list with a number', { key: 'a', tenants: ['acme', 7] }, '.tenants should be a list of texts, not ["acme",7]'],
];

for (const [what, mapping, message] of WRONG_FIELDS) {
  test(`${what} is refused by its place`, () => {
    assert.throws(() => checkedMapping(AT, mapping, FIELDS), { name: 'ConfigError', message: `${AT}${message}` });
  });
}

const URL_GIVEN = { url: 'https://api.example.com/v1', model: 'm' };
const endpoint = (mapping: Record<string, unknown>, env: Record<string, string> = {}): EndpointSpec =>
  endpointOf(AT, checkedMapping(AT, mapping, ENDPOINT_FIELDS), env);

test('an endpoint needs a URL and a model; the rest has values', () => {
  const values = {
    url: 'https://api.example.com/v1',
    model: 'm',
    apiKey: '',
    timeoutMs: 30_000,
    retriesMax: 3,
    requestsPerMinute: 0,
    tokensPerMinute: 0,
    callsMax: 8,
  };
  assert.deepEqual(endpoint(URL_GIVEN), values);
  for (const name of ['url', 'model'])
    assert.throws(() => endpoint({ ...URL_GIVEN, [name]: undefined }), { message: `${AT}.${name} is missing` });
});

test('other fields come beside those of the endpoint', () => {
  const values = checkedMapping(AT, { ...URL_GIVEN, dim: 3 }, { dim: FIELDS.dim, ...ENDPOINT_FIELDS });
  assert.deepEqual([values.dim, values.retries], [3, 3]);
  assert.throws(() => endpoint({ ...URL_GIVEN, dim: 3 }), /\.dim: there is no such field/);
});

test('each number of an endpoint has its bounds', () => {
  for (const [name, field] of Object.entries(ENDPOINT_FIELDS)) {
    if (!('min' in field)) continue;
    for (const value of [field.min, field.max]) assert.ok(endpoint({ ...URL_GIVEN, [name]: value }));
    for (const value of [field.min - 1, field.max + 1]) {
      assert.throws(() => endpoint({ ...URL_GIVEN, [name]: value }), {
        message: `${AT}.${name} should be a whole number from ${field.min} to ${field.max}, not ${value}`,
      });
    }
  }
});

test('a URL keeps its path and loses its last slashes', () => {
  for (const [url, wanted] of [
    ['http://127.0.0.1:8080', 'http://127.0.0.1:8080'],
    ['https://HOST/v1//', 'https://host/v1'],
  ]) {
    assert.equal(endpoint({ url, model: 'm' }).url, wanted);
  }
});

test('what is no URL of an endpoint is refused, without being shown', () => {
  for (const url of [
    'api.example.com/v1',
    'localhost:8080',
    'ftp://host',
    'http://',
    'https://user:secret@host with spaces/',
  ]) {
    assert.throws(() => endpoint({ url, model: 'm' }), { message: `${AT}.url should be an http or https URL` });
  }
  for (const url of [
    'https://user@host',
    'https://:secret@host',
    'https://host/v1?key=secret',
    'https://host/v1#part',
    'https://host/v1?',
    'https://host/v1#',
  ]) {
    assert.throws(() => endpoint({ url, model: 'm' }), {
      message: `${AT}.url should have no user, password, query or fragment`,
    });
  }
});

test('the key comes from the environment or a file, as text, without the white space around it', () => {
  const file = join(tempDirectory(), 'key');
  writeFileSync(file, '0123\n');
  assert.equal(endpoint({ ...URL_GIVEN, api_key_env: 'API_KEY' }, { API_KEY: ' 0123 ' }).apiKey, '0123');
  assert.equal(endpoint({ ...URL_GIVEN, api_key_file: file }).apiKey, '0123');
});

test('a key that cannot be had or sent ends the start, without being shown', () => {
  const folder = tempDirectory();
  const write = (name: string, text: string): string => (writeFileSync(join(folder, name), text), join(folder, name));
  mkdirSync(join(folder, 'folder'));
  const wrong: [Record<string, unknown>, string][] = [
    [{ api_key_env: 'API_KEY' }, '.api_key_env: there is no environment variable API_KEY'],
    [{ api_key_env: 'sk_secret' }, '.api_key_env: there is no environment variable of that name'],
    [{ api_key_env: 'EMPTY' }, '.api_key_env gives an empty key'],
    [{ api_key_env: 'TWO_LINES' }, '.api_key_env gives a key that is not a single line of ASCII'],
    [{ api_key_file: join(folder, 'none') }, '.api_key_file cannot be read: ENOENT'],
    [{ api_key_file: join(folder, 'folder') }, '.api_key_file cannot be read: EISDIR'],
    [{ api_key_file: write('empty', '\n') }, '.api_key_file gives an empty key'],
    [{ api_key_file: write('other', 'schlüssel') }, '.api_key_file gives a key that is not a single line of ASCII'],
    [{ api_key_env: 'EMPTY', api_key_file: 'x' }, ' has both api_key_env and api_key_file; set only one'],
    [
      { api_key: 'sk_secret' },
      `.api_key: there is no such field; the fields are ${Object.keys(ENDPOINT_FIELDS).join(', ')}`,
    ],
  ];
  for (const [fields, message] of wrong) {
    assert.throws(() => endpoint({ ...URL_GIVEN, ...fields }, { EMPTY: ' ', TWO_LINES: 'a\nb' }), {
      name: 'ConfigError',
      message: `${AT}${message}`,
    });
  }
});

test('a list of the environment is YAML or JSON of mappings', () => {
  const env = (text: string): NodeJS.ProcessEnv => ({ SHEAF_RERANK__INSTANCES: text });
  for (const text of ['a', '7', '{key: a}', '[a]', '[[a]]', '[null]']) {
    assert.throws(() => readConfig(env(text)), {
      name: 'ConfigError',
      message: /^rerank\.instances \(SHEAF_RERANK__INSTANCES\) should be a list of mappings/,
    });
  }
  assert.throws(() => readConfig(env('[{')), { name: 'ConfigError' });
});
