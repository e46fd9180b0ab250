// The documentation is true where a machine can tell: its tables are those of the code, and what it names exists.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { CONFIG_KEYS, envNameOf } from '../../src/config/keys.js';
import { ERROR_CODES } from '../../src/api/errors.js';
import { runInProcess } from '../kit/cli.js';
import { startTestServer } from '../kit/server.js';

const pages = readdirSync('docs', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`);
const text = ['README.md', ...pages].map((name) => readFileSync(name, 'utf8')).join('\n');
const named = (pattern: RegExp): string[] => [
  ...new Set(Array.from(text.matchAll(pattern), ([, name]) => name as string)),
];

test('the page of errors has every code with status, meaning and whether a retry helps', () => {
  const errors = readFileSync('docs/reference/errors.md', 'utf8');
  for (const [code, { status, meaning, retryable }] of Object.entries(ERROR_CODES)) {
    const row = `| \`${code}\` | ${status} | ${meaning} | ${retryable ? 'yes' : 'no'} |`;
    assert.ok(errors.includes(row), `errors.md lacks the row\n${row}`);
  }
});

test('variables that the pages name are those of configuration keys', () => {
  const variables = new Set([
    ...CONFIG_KEYS.map(({ path }) => envNameOf(path)),
    'SHEAF_CONFIG',
    'SHEAF_URL',
    'SHEAF_API_KEY',
    'SHEAF_KEY',
  ]);
  assert.deepEqual(
    named(/\b(SHEAF_[A-Z_]+)/g).filter((name) => !variables.has(name)),
    [],
  );
});

test('programs and scripts that the pages name are there', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
  const programs = named(/node dist\/load\/([a-z][\w/-]*)\.js/g);
  assert.ok(programs.length > 20);
  assert.deepEqual(
    programs.filter((name) => !existsSync(`dist/load/${name}.js`)),
    [],
  );
  assert.deepEqual(
    named(/npm run ([\w:-]+)/g).filter((name) => !(name in scripts)),
    [],
  );
});

test('commands that the pages name are those of the command line, each of which has a row in its table', async () => {
  const { stdout } = await runInProcess(['--help']);
  const commands = Array.from(stdout.matchAll(/^ {2}([a-z]+) .*/gm), ([, name]) => name as string).filter(
    (name) => !['help', 'sheaf'].includes(name),
  );
  assert.ok(commands.length > 15, stdout);
  const table = readFileSync('docs/guide/cli.md', 'utf8');
  assert.deepEqual(
    commands.filter((name) => !table.includes(`\`${name}`)),
    [],
    'not in the table',
  );
  assert.deepEqual(
    named(/(?:npx |`|\()sheaf ([a-z]+)/g).filter((name) => !commands.includes(name)),
    [],
    'not in the command line',
  );
});

test('every operation of the OpenAPI document has a row in the table of endpoints', async () => {
  const { call } = await startTestServer();
  const { paths } = (await call('GET', '/openapi.json')).json as { paths: Record<string, Record<string, unknown>> };
  const table = readFileSync('docs/reference/http-api.md', 'utf8');
  const endpoints = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  assert.ok(endpoints.length > 60);
  assert.deepEqual(
    endpoints.filter((endpoint) => !table.includes(`| \`${endpoint}\` |`)),
    [],
  );
});
