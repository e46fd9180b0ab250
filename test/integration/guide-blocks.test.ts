// Runs every code block of the README and of the guide: commands by bash, bodies of requests and parts of answers
// against a server, configurations by the server's own reader. A block that something else runs says so behind its
// language: `run-by=` and a test file, or `not-run=` and a reason. The blocks of a page run in order.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, test } from 'node:test';
import { transform } from 'esbuild';
import { readConfig } from '../../src/config/load.js';
import { startOpenAiServer } from '../kit/openai-server.js';
import { startTestServer } from '../kit/server.js';
import { tempDirectory } from '../kit/temp.js';

const COMMAND_TIMEOUT_MS = 120_000;
const PROGRAM = resolve('dist/src/main.js');
const home = tempDirectory();
/** A folder in the form of a model, which replaces the models that the guide names. */
const MODEL = join(home, 'model');
cpSync('test/kit/cross-encoder', MODEL, { recursive: true });
writeFileSync(join(MODEL, 'config.json'), '{ "hidden_size": 384 }');

interface Block {
  readonly page: string;
  readonly line: number;
  readonly language: string;
  readonly text: string;
}

const pages = [
  'README.md',
  ...readdirSync('docs/guide')
    .sort()
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/guide/${name}`),
];
const marked: (Block & { mark: string })[] = [];
const blocks: Block[] = [];
for (const page of pages) {
  const text = readFileSync(page, 'utf8');
  for (const { 1: info = '', 2: content = '', index } of text.matchAll(/^```(\S.*)\n([\s\S]*?)^```$/gm)) {
    const [language = '', ...mark] = info.split(' ');
    const block = { page, line: text.slice(0, index).split('\n').length, language, text: content };
    if (mark.length === 0) blocks.push(block);
    else marked.push({ ...block, mark: mark.join(' ') });
  }
}

test('what is not run here names the test that runs it, or why none does', () => {
  assert.ok(marked.length > 0 && blocks.length > 10);
  for (const { page, line, mark } of marked) {
    const [, file] = /^run-by=(\S+)$/.exec(mark) ?? [];
    assert.ok(file ? existsSync(file) : /^not-run="[^"]{10,}"$/.test(mark), `${page}:${line}: ${mark}`);
  }
});

const embeddings = await startOpenAiServer({ after }, { dim: 8 });
const minilm = { key: 'minilm', type: 'openai', model: 'tiny-embedding', dim: 8, url: embeddings.url, retries: 0 };
const server = await startTestServer({
  SHEAF_EMBEDDER__INSTANCES: JSON.stringify([minilm]),
  SHEAF_STORAGE__PARTITIONS: '4',
  SHEAF_COLLECTIONS__PARTITIONS: '1',
});
const guarded = await startTestServer({ SHEAF_AUTH__MODE: 'static' });
for (const [docid, text] of [
  ['nemo', 'Captain Nemo commands the Nautilus.'],
  ['layer', 'The boundary layer on a flat plate.'],
])
  for (const path of ['default/docs', 'acme/docs'])
    await server.call('POST', `/v1/collections/${path}/documents`, { docid, text });
mkdirSync(join(home, 'notes'));
writeFileSync(join(home, 'notes/backups.md'), 'We decided to keep backups of the Nautilus for a month.');
for (const name of ['marked', 'pino', 'yaml'])
  cpSync(`node_modules/${name}/README.md`, join(home, 'node_modules', name, 'README.md'));
mkdirSync(join(home, 'bin'));
writeFileSync(
  join(home, 'bin/npx'),
  `#!/bin/sh\n[ "$1" = sheaf ] || exit 99\nshift\nexec "${process.execPath}" "${PROGRAM}" "$@"\n`,
  { mode: 0o755 },
);
writeFileSync(
  join(home, 'bin/npm'),
  `#!/bin/sh\n[ "$*" = "run demo" ] || exit 99\nexec "${process.execPath}" "${PROGRAM}" demo\n`,
  { mode: 0o755 },
);
writeFileSync(join(home, 'bin/curl'), '#!/bin/sh\nexec /usr/bin/curl --fail-with-body "$@"\n', { mode: 0o755 });

/** Runs the commands as printed; only the server's address, the data directory and a long duration are replaced. */
async function runCommands({ text }: Block): Promise<void> {
  const target = text.includes('ADMIN=') ? guarded : server;
  const script = text
    .replaceAll('localhost:8080', new URL(target.url).host)
    .replaceAll('127.0.0.1:8080', new URL(target.url).host)
    .replaceAll('/var/lib/sheaf', target.dataDir)
    .replaceAll('--seconds 30', '--seconds 1');
  const env = { PATH: `${join(home, 'bin')}:${process.env.PATH}`, HOME: home, SHEAF_URL: target.url };
  const child = spawn('bash', ['-euo', 'pipefail', '-c', script], {
    env,
    cwd: home,
    timeout: COMMAND_TIMEOUT_MS,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => (output += String(piece)));
  const code = await new Promise((ended) => child.on('close', ended));
  assert.equal(code, 0, `${script}\n${output}`);
}

type Json = Record<string, unknown>;

async function searched(body: Json): Promise<void> {
  const { status, json } = await server.call('POST', '/v1/collections/default/docs/search', body);
  assert.equal(status, 200, JSON.stringify(json));
}

/** The request that a body belongs to, or the answer that a part belongs to, by its first field. */
const BODIES: Readonly<Record<string, (body: Json) => Promise<void>>> = {
  q: async (body) => {
    const { status, json } = await server.call('POST', '/v1/collections/default/docs/search', body);
    // No reranker is configured here, so a search with one is rejected at that point.
    if ('rerank' in body) assert.equal(json.code, 'invalid_rerank');
    else assert.equal(status, 200, JSON.stringify(json));
  },
  sort: searched,
  like: searched,
  queries: searched,
  searches: async (body) => {
    const { status, json } = await server.call('POST', '/v1/collections/default/docs/search:batch', body);
    assert.equal(status, 200, JSON.stringify(json));
  },
  sample: async (body) => {
    const { status, json } = await server.call('POST', '/v1/collections/default/docs/recall', body);
    assert.equal(status, 200, JSON.stringify(json));
    answers.set('recall', json);
  },
  chunking: async (body) => {
    const { status, json } = await server.call('POST', '/v1/collections/acme/cut', body);
    assert.equal(status, 201, JSON.stringify(json));
    assert.deepEqual(json.chunking, body.chunking);
  },
  embedder: async (body) => {
    const { status, json } = await server.call('POST', '/v1/collections/acme/docs/reindex', body);
    assert.equal(status, 200, JSON.stringify(json));
    answers.set('job_id', json);
  },
  matches: async (shown) => {
    const { json } = await server.call('GET', '/v1/collections/default/docs/search?q=submarine+captain');
    assertHas(json.matches[0], (shown.matches as Json[])[0] as Json);
  },
  count: async (shown) => {
    const facets = ['colour', { field: 'price', size: 0, ranges: [{ to: 5 }, { from: 5, to: 10 }] }];
    const { json } = await server.call('POST', '/v1/collections/demo/shop/count', { q: 'socks', facets });
    assert.deepEqual({ count: json.count, facets: json.facets }, shown);
  },
  recall: async (shown) => assertHas(answers.get('recall'), shown),
  job_id: async (shown) => assertHas(answers.get('job_id'), shown, ['rate', 'eta_seconds']),
};
const answers = new Map<string, Json>();

/** Asserts that the shown fields are fields of the answer. `later` names fields that a job has only once it runs. */
function assertHas(answer: Json | undefined, shown: Json, later: readonly string[] = []): void {
  const missing = Object.keys(shown).filter((name) => !later.includes(name) && !(name in (answer ?? {})));
  assert.deepEqual(missing, [], JSON.stringify(answer));
}

async function runJson({ text }: Block): Promise<void> {
  const body = JSON.parse(text) as Json;
  const run = BODIES[Object.keys(body)[0] as string];
  assert.ok(run, `no request takes ${text}`);
  await run(body);
}

async function readYaml({ text }: Block): Promise<void> {
  const [file, keyFile] = [join(home, 'sheaf.yaml'), join(home, 'key')];
  writeFileSync(keyFile, 'key');
  // The reader's own model folder and key are replaced by a folder in the form of a model and an arbitrary key.
  const filled = text.replaceAll(/<sha256[^>]*>/g, 'a'.repeat(64)).replaceAll(/\.\/models\/[\w.-]+/g, MODEL);
  writeFileSync(
    file,
    filled
      .replaceAll('file: onnx/model_quantized.onnx', 'file: onnx/model.onnx')
      .replaceAll('/run/secrets/openai', keyFile),
  );
  assert.ok(readConfig({ SHEAF_CONFIG: file, SHEAF_DATA_DIR: home, OPENAI_API_KEY: 'key', RERANK_KEY: 'key' }));
}

/** The package of the client alone, which is built as for a release. */
function packagedClient(): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/client-package.mjs'], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return join(stdout.trim(), 'dist/index.js');
}

async function runTypeScript({ text }: Block): Promise<void> {
  const client = text.includes("'sheaf-client'") ? packagedClient() : resolve('dist/src/client/client.js');
  const { code } = await transform(
    `const documents = [{ docid: 'whale', text: 'Whales sing.' }];\n${text}`
      .replace(/'sheaf[/-]client'/, JSON.stringify(client))
      .replace('http://127.0.0.1:8080', server.url),
    { loader: 'ts', format: 'esm' },
  );
  const file = join(home, 'client.mjs');
  writeFileSync(file, code);
  const child = spawn(process.execPath, [file], { timeout: COMMAND_TIMEOUT_MS, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => (output += String(piece)));
  assert.equal(await new Promise((ended) => child.on('close', ended)), 0, output);
  assert.match(output, /whale/);
}

const RUNNERS: Readonly<Record<string, (block: Block) => Promise<void>>> = {
  sh: runCommands,
  json: runJson,
  yaml: readYaml,
  ts: runTypeScript,
};

const hasJq = spawnSync('jq', ['--version']).error === undefined;

for (const block of blocks) {
  const skip = /\bjq\b/.test(block.text) && !hasJq && 'the program jq is not installed';
  test(`${block.page}:${block.line}, ${block.language}`, { skip }, async () => {
    const run = RUNNERS[block.language];
    assert.ok(run, `nothing runs ${block.language}: mark the block with run-by= or not-run=`);
    await run(block);
  });
}
