// The documentation is true where a machine can check it: its tables are those of the code, and what it names exists.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { CONFIG_KEYS, envNameOf } from '../../src/config/keys.js';
import { ERROR_CODES } from '../../src/api/errors.js';
import * as limits from '../../src/api/limits.js';
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
    named(/\b(SHEAF_[A-Z0-9_]+)/g).filter((name) => !variables.has(name)),
    [],
  );
});

test('programs and scripts that the pages name are there', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
  const list = execFileSync(process.execPath, ['dist/load/main.js', 'list', '--json'], { encoding: 'utf8' });
  const measurements = (JSON.parse(list) as { command: string }[]).map(({ command }) => command);
  const measured = named(/node dist\/load\/main\.js (?!list)(\w+ \w+)/g);
  assert.ok(measured.length > 20);
  assert.deepEqual(
    measured.filter((command) => !measurements.includes(command)),
    [],
  );
  assert.deepEqual(named(/node (dist\/load\/(?!main)[\w/-]+\.js)/g), []);
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

test('the page of metrics has every metric of a server, with its type, labels and meaning', async () => {
  const { call } = await startTestServer({ SHEAF_METRICS__TENANT_LABELS: '1' });
  await call('POST', '/v1/collections/default/docs/documents', { docid: 'a', text: 'The sea.' });
  await call('GET', '/v1/collections/default/docs/search?q=sea');
  const { text: scraped } = await call('GET', '/metrics');
  const page = readFileSync('docs/reference/metrics.md', 'utf8');
  const families = Array.from(scraped.matchAll(/^# HELP (sheaf_\w+) (.*)\n# TYPE \w+ (\w+)\n?([^#]*)/gm));
  assert.ok(families.length > 50);
  for (const [, name, help, type, lines] of families) {
    const row = new RegExp(`^\\| \`${name}\` \\| ${type} \\| (.*) \\| (.*) \\|$`, 'm').exec(page);
    assert.ok(row, `metrics.md lacks ${name}`);
    assert.equal(row[2], help);
    const labels = Array.from(/\{(.*?)\}/.exec(lines ?? '')?.[1]?.matchAll(/(\w+)="/g) ?? [], ([, label]) => label);
    for (const label of labels.filter((label) => label !== 'le'))
      assert.ok(row[1]?.includes(`\`${label}\``), `metrics.md lacks the label ${label} of ${name}`);
  }
  const listed = Array.from(page.matchAll(/^\| `(sheaf_\w+)`/gm), ([, name]) => name);
  assert.deepEqual(
    listed.filter((name) => !families.some(([, other]) => other === name)),
    [],
    'no metric of a server',
  );
});

test('the quickstart finds its document, and the answer that it shows is the one that comes', async () => {
  const quickstart = readFileSync('docs/guide/quickstart.md', 'utf8');
  const body = /-d '(\{.*?\})'/.exec(quickstart)?.[1];
  const query = /search\?(q=[^']+)'/.exec(quickstart)?.[1];
  const shown = /```json\n(.*?)\n```/s.exec(quickstart)?.[1];
  assert.ok(body && query && shown);
  const { call } = await startTestServer();
  await call('POST', '/v1/collections/default/docs/documents', JSON.parse(body));
  const { json } = await call('GET', `/v1/collections/default/docs/search?${query}`);
  const [hit] = json['matches'] as Record<string, unknown>[];
  const [expected] = (JSON.parse(shown) as { matches: Record<string, unknown>[] }).matches;
  assert.ok(hit && expected);
  assert.deepEqual(
    { ...Object.fromEntries(Object.keys(expected).map((name) => [name, hit[name]])), score: expected['score'] },
    expected,
  );
  assert.ok(Math.abs((hit['score'] as number) - (expected['score'] as number)) < 1e-3);
});

test('the page of limits has the numbers of the code', () => {
  const page = readFileSync('docs/reference/limits.md', 'utf8');
  const number = (value: number): string => value.toLocaleString('en-US');
  const kib = (bytes: number): string => `${bytes / 1024} KiB`;
  for (const text of [
    `| display name | ${limits.DISPLAY_NAME_CHARACTERS_MAX} characters |`,
    `| chunk size | ${limits.CHUNK_SIZE_MIN} to ${number(limits.CHUNK_SIZE_MAX)} characters`,
    `| dimensions of a vector | ${number(limits.DIM_MAX)} |`,
    `| levels of lists and objects in metadata | ${limits.METADATA_LEVELS_MAX};`,
    `| keys of a tenant | ${number(limits.TENANT_KEYS_MAX)},`,
    `| \`k\` | 1 to ${number(limits.K_MAX)}, default ${limits.K_DEFAULT} |`,
    `| \`ef\` | 1 to ${number(limits.EF_MAX)} |`,
    `default ${limits.RERANK_DEPTH_DEFAULT} |`,
    `| ${kib(limits.QUERY_TEXT_BYTES_MAX)} of UTF-8;`,
    `${number(limits.QUERY_CHARACTERS_MAX)} characters, ${number(limits.QUERY_TOKENS_MAX)} distinct words |`,
    `| filters | ${limits.FILTER_LEVELS_MAX} levels, ${limits.FILTER_CONDITIONS_MAX} conditions, ${number(limits.FILTER_VALUES_MAX)} values, field names of ${limits.FILTER_FIELD_CHARACTERS_MAX} characters |`,
    `| filters of a key | ${kib(limits.KEY_FILTERS_BYTES_MAX)} |`,
    `1 to ${number(limits.RECALL_SAMPLE_MAX)} (${limits.RECALL_SAMPLE_DEFAULT}), 1 to ${limits.RECALL_K_MAX} (${limits.RECALL_K_DEFAULT}); ${limits.RECALL_TIME_MAX_MS / 1000} seconds`,
    `| sample of vectors | ${number(limits.VECTOR_SAMPLE_MAX)} (${limits.VECTOR_SAMPLE_DEFAULT});`,
    `| head: path, query and headers | ${kib(limits.HEAD_BYTES_MAX)}`,
    `| ${kib(limits.JSON_BODY_SHAPE.bytesMax)}, ${number(limits.JSON_BODY_SHAPE.namesMax)} names, ${number(limits.JSON_BODY_SHAPE.valuesMax)} values, ${limits.JSON_BODY_SHAPE.levelsMax} levels |`,
    `1 to ${number(limits.PAGE_MAX)}; of the query log ${limits.QUERIES_PAGE_MAX} (${limits.QUERIES_PAGE_DEFAULT}) |`,
    `| event streams | ${limits.EVENT_STREAMS_OF_COLLECTION_MAX} of a collection, ${limits.EVENT_STREAMS_MAX} altogether`,
    `There are at most ${limits.SHARDS_MAX} shards`,
  ])
    assert.ok(page.includes(text), `limits.md lacks: ${text}`);
});
