// The bundling of the programs: on a small build, whose modules look for what lies beside them, and on the build that
// these tests are of.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { test } from 'node:test';
import { tempDirectory } from '../../kit/temp.js';

const BUNDLE = `import { bundlePrograms } from '${resolve('scripts/bundle.mjs')}'; await bundlePrograms(process.argv[1]);`;

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
    'dist/src/main.js':
      "import { near } from '../../scripts/deep/near.js'; console.log(near(), await (await import('../../scripts/deep/later.js')).later());",
    'dist/src/deep/near.js':
      "import { readFileSync } from 'node:fs'; export const near = () => readFileSync(new URL('./near.txt', import.meta.url), 'utf8');",
    'dist/src/deep/near.txt': 'near',
    'dist/src/deep/later.js':
      "import old from 'old-format'; import { near } from '../../scripts/near.js'; export const later = () => `${old.sep} later ${near()}`;",
    'dist/workers/kind/worker.js':
      "import { near } from '../../../src/deep/near.js'; export const run = () => `run ${near()}`;",
    'node_modules/old-format/index.js': "module.exports = { sep: require('path').posix.sep };",
    'node_modules/old-format/package.json': '{ "name": "old-format", "main": "index.js" }',
  });
  run('--input-type=module', '-e', BUNDLE, join(folder, 'dist'));
  for (const path of ['dist/src/deep/near.js', 'dist/src/deep/later.js', 'node_modules'])
    rmSync(join(folder, path), { recursive: true });
  assert.equal(run(join(folder, 'dist/src/main.js')), 'near / later near\n');
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
  assert.equal(programs.length, 7);
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
