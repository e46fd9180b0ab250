// The README is true where a machine can tell: its tables are those of the code, what it names exists, and every
// endpoint stands in it.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { CONFIG_KEYS, envNameOf } from '../../src/config/keys.js';
import { ERROR_CODES } from '../../src/api/errors.js';
import { runInProcess } from '../kit/cli.js';
import { startTestServer } from '../kit/server.js';

const readme = readFileSync('README.md', 'utf8');
const named = (pattern: RegExp): string[] => [
  ...new Set(Array.from(readme.matchAll(pattern), ([, name]) => name as string)),
];

test('the README has every error code with status, meaning and whether a retry helps', () => {
  for (const [code, { status, meaning, retryable }] of Object.entries(ERROR_CODES)) {
    const row = `| \`${code}\` | ${status} | ${meaning} | ${retryable ? 'yes' : 'no'} |`;
    assert.ok(readme.includes(row), `README.md lacks the row\n${row}`);
  }
});

test('variables that it names are those of configuration keys', () => {
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

test('programs and scripts that it names are there', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
  const programs = named(/node dist\/load\/([\w/-]+)\.js/g);
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

test('commands that it names are those of the command line, each of which it names', async () => {
  const { stdout } = await runInProcess(['--help']);
  const commands = Array.from(stdout.matchAll(/^ {2}([a-z]+) .*/gm), ([, name]) => name as string).filter(
    (name) => !['help', 'sheaf'].includes(name),
  );
  assert.ok(commands.length > 15, stdout);
  const section = readme.slice(readme.indexOf('## Command line'), readme.indexOf('## Agents and frameworks'));
  assert.deepEqual(
    commands.filter((name) => !section.includes(`\`${name}`)),
    [],
    'not in the table',
  );
  assert.deepEqual(
    named(/(?:npx |`|\()sheaf ([a-z]+)/g).filter((name) => !commands.includes(name)),
    [],
    'not in the command line',
  );
});

test('every endpoint stands in the interface', async () => {
  const { call } = await startTestServer();
  const { paths } = (await call('GET', '/openapi.json')).json as { paths: Record<string, Record<string, unknown>> };
  const section = readme.slice(readme.indexOf('## The interface'), readme.indexOf('## The console'));
  const rows = section
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split(' | ')[0] as string);
  const last = (path: string): string =>
    path.endsWith('{file}') ? '' : (/(?:\/[^/{]+)?\/?(?:\{[^}]+\})?$/.exec(path)?.[0] as string);
  const missing = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods)
      .filter(
        (method) =>
          !rows.some((row) => row.includes(method.toUpperCase()) && row.replaceAll('…', '').includes(last(path))),
      )
      .map((method) => `${method} ${path}: ${last(path)}`),
  );
  assert.deepEqual(missing, []);
});
