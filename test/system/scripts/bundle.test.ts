// The bundles of the programs: of a small build, whose modules look for files beside them, and of the build that these
// tests belong to.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { test } from 'node:test';
import { tempDirectory } from '../../kit/temp.js';

const BUNDLE = `import { bundleProgram } from '${resolve('scripts/bundle.mjs')}';
  const [folder, ...programs] = process.argv.slice(1);
  const told = [];
  for (const program of programs) told.push(await bundleProgram(folder, program, ['dist/src/deep/made.js']));
  console.log(JSON.stringify(told));`;

function write(folder: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

function run(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return stdout;
}

test('a program finds what lies beside its modules, loads parts later, and needs none of the modules it was made of', () => {
  const folder = tempDirectory();
  write(folder, {
    'package.json': '{ "type": "module" }',
    'src/main.ts':
      "import { near } from './deep/near.js'; import { made } from './deep/made.js'; console.log(near(), made(), await (await import('./deep/later.js')).later());",
    'src/deep/near.ts':
      "import { readFileSync } from 'node:fs'; export const near = (): string => readFileSync(new URL('./near.txt', import.meta.url), 'utf8');",
    'dist/src/deep/near.txt': 'near',
    'src/deep/made.ts': "export const made = (): string => 'as it was written';",
    'dist/src/deep/made.js': "export const made = () => 'as it was compiled';\n//# sourceMappingURL=made.js.map\n",
    'dist/src/deep/made.js.map': '{"version":3,"sources":["../../../src/deep/made.ts"],"names":[],"mappings":"AAAA"}',
    'src/deep/later.ts':
      "import old from 'old-format'; import { near } from './near.js'; export const later = (): string => `${old.sep} later ${near()}`;",
    'workers/kind/worker.ts':
      "import { near } from '../../src/deep/near.js'; export const run = (): string => `run ${near()}`;",
    'node_modules/old-format/index.js': "module.exports = { sep: require('path').posix.sep };",
    'node_modules/old-format/package.json': '{ "name": "old-format", "main": "index.js" }',
  });
  const [main, worker] = JSON.parse(
    run('--input-type=module', '-e', BUNDLE, realpathSync(folder), 'src/main.ts', 'workers/kind/worker.ts'),
  );
  const modules = ['src/deep/later.ts', 'src/deep/made.ts', 'src/deep/near.ts', 'src/main.ts'];
  assert.deepEqual(main.inputs.toSorted(), ['dist/src/deep/made.js', ...modules]);
  assert.deepEqual(worker.inputs, ['src/deep/near.ts', 'workers/kind/worker.ts']);
  const { sources } = JSON.parse(readFileSync(join(folder, 'dist/src/main.js.map'), 'utf8')) as { sources: string[] };
  assert.ok(sources.includes('../../src/deep/made.ts'), 'what is compiled keeps its lines');
  for (const path of ['src', 'dist/src/deep/made.js', 'node_modules']) rmSync(join(folder, path), { recursive: true });
  assert.equal(run(join(folder, 'dist/src/main.js')), 'near as it was compiled / later near\n');
  assert.equal(
    run(
      '--input-type=module',
      '-e',
      `console.log((await import('${join(folder, 'dist/workers/kind/worker.js')}')).run())`,
    ),
    'run near\n',
  );
});

test('every program of this build loads files of its own folder alone, and packages that cannot be bundled', () => {
  const workers = readdirSync('dist/workers').flatMap((kind) => [
    `dist/workers/${kind}/worker.js`,
    `dist/workers/${kind}/main.js`,
  ]);
  const programs = ['dist/src/main.js', ...workers.filter((path) => existsSync(path))];
  assert.equal(programs.length, 9);
  for (const program of programs) {
    const imported = [...readFileSync(program, 'utf8').matchAll(/^(?:import|export|\}) ?.*?from "([^"]+)";$/gm)].map(
      ([, from]) => from as string,
    );
    assert.ok(imported.length > 0, program);
    assert.deepEqual(
      imported.filter((from) => from.startsWith('../') || /^\.\/[^/]+\//.test(from)),
      [],
      program,
    );
  }
});
