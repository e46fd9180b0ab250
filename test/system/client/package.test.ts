// The client as another project gets it: the packed package, and a consumer that is compiled against its types and run.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { startFakeServer } from '../../kit/fake-server.js';
import { tempDirectory } from '../../kit/temp.js';

const CONSUMER = `import { SheafClient, SheafNotFound, type BatchItemResult, type SearchHit } from 'sheaf/client';

const client = new SheafClient({ url: process.argv[2] ?? '' });
const { matches, request_id } = await client.search('acme', 'docs', { q: 'nemo', k: 3, content_filter: { op: 'phrase', value: 'captain' } });
const first: SearchHit | undefined = matches[0];
for await (const { docid, version } of client.eachDocument('acme', 'docs')) console.log(docid, version + 1);
const results: AsyncGenerator<BatchItemResult> = client.ingestStream('acme', 'docs', [{ text: 'x' }]);
void results;
const missing: boolean = await client.getDocument('acme', 'docs', 'none').then(() => false, (error: unknown) => error instanceof SheafNotFound && error.code === 'document_not_found');
console.log(first?.id, request_id, missing);
// @ts-expect-error A mode filter that is none.
void (() => client.search('acme', 'docs', { q: 'x', content_filter: { op: 'near', value: 'y' } }));
// @ts-expect-error Answers are typed.
void (() => client.health().then(({ nobody }) => nobody));
`;

function run(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  assert.equal(status, 0, `${command} ${args.join(' ')}\n${stdout}${stderr}`);
  return stdout;
}

test('a project that has the package compiles against sheaf/client and runs', async (t) => {
  const project = tempDirectory();
  run('npm', ['pack', '--ignore-scripts', '--loglevel=error', '--pack-destination', project], '.');
  const archive = readdirSync(project).find((name) => name.endsWith('.tgz')) as string;
  mkdirSync(join(project, 'node_modules/sheaf'), { recursive: true });
  run('tar', ['-xzf', archive, '-C', 'node_modules/sheaf', '--strip-components=1'], project);
  // npm would install it beside the package: the client packs MessagePack.
  symlinkSync(resolve('node_modules/msgpackr'), join(project, 'node_modules/msgpackr'));
  symlinkSync(resolve('node_modules/@types'), join(project, 'node_modules/@types'));
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(project, 'consumer.ts'), CONSUMER);
  writeFileSync(
    join(project, 'tsconfig.json'),
    '{ "compilerOptions": { "module": "NodeNext", "target": "ES2022", "strict": true, "skipLibCheck": true, "types": ["node"] }, "files": ["consumer.ts"] }',
  );
  run(process.execPath, [resolve('node_modules/typescript/bin/tsc'), '-p', '.'], project);
  const { url } = await startFakeServer(t, ({ path }) => {
    if (path.endsWith('/search')) return { json: { ok: true, matches: [{ id: 'nemo::chunk_0' }], request_id: 'r1' } };
    if (path.endsWith('/none'))
      return { status: 404, json: { ok: false, code: 'document_not_found', error: 'x', error_type: 'not_found' } };
    return { json: { ok: true, documents: [{ docid: 'nemo', version: 1 }] } };
  });
  const child = spawn(process.execPath, ['consumer.js', url], { cwd: project, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  for await (const text of child.stdout.setEncoding('utf8')) output += String(text);
  assert.equal(output, 'nemo 2\nnemo::chunk_0 r1 true\n');
});
