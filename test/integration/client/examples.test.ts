// The examples of docs/reference/typescript.md: their types are checked as an application's are, they run in their order
// against a server, and every method of the client has one.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { transform } from 'esbuild';
import ts from 'typescript';
import { SheafClient } from '../../../src/client/client.js';
import { startTestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';

const KEY = 'root';
const text = readFileSync('docs/reference/typescript.md', 'utf8');
const examples = Array.from(text.matchAll(/^```ts\n([\s\S]*?)^```$/gm), ([, code = '']) => code).join('\n');

/** The methods of an object and of those that it has, as they are called. */
function methodsOf(object: object, prefix = ''): string[] {
  const own = Object.getOwnPropertyNames(Object.getPrototypeOf(object) as object);
  const groups = Object.entries(object).filter(([name]) => name !== 'transport') as [string, object][];
  return [
    ...own.filter((name) => name !== 'constructor').map((name) => `${prefix}${name}`),
    ...groups.flatMap(([name, group]) => methodsOf(group, `${prefix}${name}.`)),
  ];
}

test('every method has an example', () => {
  const methods = methodsOf(new SheafClient({ url: 'http://127.0.0.1:1' })).filter(
    (name) => name !== 'archives.download',
  );
  assert.ok(methods.length > 70, methods.join());
  const missing = methods.filter(
    (name) => !new RegExp(`\\b(client|root)\\.${name.replace('.', '\\.')}\\(`).test(examples),
  );
  assert.deepEqual(missing, []);
});

test('the examples have the right types', () => {
  const file = join(resolve('test/integration/client'), 'examples-of-the-page.ts');
  const source = `declare const ADMIN_KEY: string;\n${examples.replace("'sheaf-client'", "'../../../src/client/client.js'")}`;
  const { options } = ts.parseJsonConfigFileContent(
    ts.readConfigFile('tsconfig.json', (path) => ts.sys.readFile(path)).config,
    ts.sys,
    process.cwd(),
  );
  const checked = { ...options, noEmit: true, incremental: false, noUnusedLocals: false };
  const host = ts.createCompilerHost(checked);
  const read = host.getSourceFile.bind(host);
  host.getSourceFile = (name, target) =>
    name === file ? ts.createSourceFile(name, source, target) : read(name, target);
  const exists = host.fileExists.bind(host);
  host.fileExists = (name) => name === file || exists(name);
  const program = ts.createProgram([file], checked, host);
  const found = ts.getPreEmitDiagnostics(program, program.getSourceFile(file));
  assert.equal(ts.formatDiagnostics(found, host), '');
});

test('the examples run', async () => {
  const server = await startTestServer({ SHEAF_AUTH__MODE: 'static', SHEAF_AUTH__ADMIN_KEY: KEY });
  const source = examples
    .replace("'sheaf-client'", JSON.stringify(resolve('dist/src/client/client.js')))
    .replaceAll('http://127.0.0.1:8080', server.url);
  const { code } = await transform(`const ADMIN_KEY = '${KEY}';\n${source}`, { loader: 'ts', format: 'esm' });
  const file = join(tempDirectory(), 'examples.mjs');
  writeFileSync(file, code);
  await import(pathToFileURL(file).href);
  assert.deepEqual(server.faults, []);
});
