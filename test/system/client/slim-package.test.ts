// The package `sheaf-client` as another project installs it: small, by fetch alone, strictly typed, against a real server.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { startTestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';

const run = promisify(execFile);
const INSTALLED_BYTES_MAX = 100 * 1024;

const CONSUMER = `import { SheafClient, SheafNotFound, type SearchHit } from 'sheaf-client';

const client = new SheafClient({ url: process.argv[2] ?? '' });
await client.ingestText('acme', 'docs', { docid: 'nemo', text: 'Captain Nemo commands the Nautilus.' });
for await (const { ok } of client.ingestStream('acme', 'docs', [{ docid: 'whale', text: 'A white whale.' }])) console.log(ok);
const { matches } = await client.search('acme', 'docs', { q: 'submarine captain', k: 1 });
const first: SearchHit | undefined = matches[0];
const k: number = 3;
for await (const { id } of client.eachHit('acme', 'docs', { q: 'whale', k })) console.log(id);
const missing = await client.getDocument('acme', 'docs', 'none').catch((error: unknown) => error instanceof SheafNotFound && error.code);
const { bytes } = await client.archives.dumpCollection('acme', 'docs');
const archive = await new Response(bytes).blob();
const { counts } = await client.archives.restoreCollection('acme', 'copy', archive);
console.log(first?.id, missing, counts.documents);
// @ts-expect-error Absent is not undefined.
void (() => new SheafClient({ url: '', key: undefined }));
// @ts-expect-error A number that is none.
void (() => client.search('acme', 'docs', { q: 'x', k: 'three' }));
`;

test('sheaf-client is installed in 100 KB and works by fetch alone', async () => {
  const project = tempDirectory();
  await run('npm', ['pack', '--loglevel=error', '--pack-destination', project], { cwd: 'clients/typescript' });
  const packed = readdirSync(project).find((name) => name.endsWith('.tgz')) as string;
  const installed = join(project, 'node_modules', 'sheaf-client');
  mkdirSync(installed, { recursive: true });
  await run('tar', ['-xzf', packed, '-C', installed, '--strip-components=1'], { cwd: project });
  const files = readdirSync(installed, { recursive: true, encoding: 'utf8' }).map((name) => join(installed, name));
  const bytes = files.reduce((sum, file) => sum + (statSync(file).isFile() ? statSync(file).size : 0), 0);
  assert.ok(bytes <= INSTALLED_BYTES_MAX, `${bytes} bytes`);
  const code = readFileSync(join(installed, 'dist/index.js'), 'utf8');
  const beyondFetch = /\bfrom\s*["']|\brequire\(|\bimport\(|\bprocess\.|\bBuffer\b|\bsetImmediate\b/.exec(code);
  assert.equal(beyondFetch, null);
  assert.deepEqual(
    Object.keys(JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')).dependencies ?? {}),
    [],
  );
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(project, 'consumer.ts'), `declare const process: { argv: string[] };\n${CONSUMER}`);
  const compilerOptions = {
    module: 'NodeNext',
    target: 'ES2022',
    lib: ['ES2023', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'],
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    types: [],
  };
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['consumer.ts'] }));
  await run(process.execPath, [resolve('node_modules/typescript/bin/tsc'), '-p', '.'], { cwd: project });
  const { url } = await startTestServer();
  const { stdout } = await run(process.execPath, ['consumer.js', url], { cwd: project });
  assert.equal(stdout, 'true\nwhale::chunk_0\nnemo::chunk_0\nnemo::chunk_0 document_not_found 2\n');
});
