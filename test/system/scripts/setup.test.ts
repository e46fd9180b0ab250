// The setup script and the build on a small project: a fresh clone, a change, a failure, and a second terminal.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readlinkSync, rmSync, statSync, symlinkSync, unlinkSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { FakeProject } from '../../kit/scripts/fake-project.js';
import { until } from '../../kit/until.js';

async function readyProject(): Promise<FakeProject> {
  const project = new FakeProject();
  const { status, out } = await project.setUp();
  assert.equal(status, 0, out);
  return project;
}

test('a fresh clone is installed and built, with dev dependencies even in production', async () => {
  const project = new FakeProject();
  const { status, out } = await project.setUp({ NODE_ENV: 'production' });
  assert.equal(status, 0, out);
  assert.deepEqual(out.trim().split('\n'), ['set-up: installing packages (npm ci)', 'set-up: building']);
  assert.match(project.npmCalls().join(), /^ci (?=.*--include=dev)(?=.*--ignore-scripts)/);
  for (const path of ['dist/src/main.js', 'dist/src/engine/kernel.wasm']) assert.ok(project.has(path), path);
  assert.equal((await project.run(['dist/src/main.js', 'Nautilus'])).out, 'true\n');
});

test('with nothing to do it says and does nothing', async () => {
  const project = await readyProject();
  project.write('dist/witness', '');
  assert.deepEqual(await project.setUp(), { status: 0, out: '' });
  assert.equal(project.npmCalls().length, 1);
  assert.ok(project.has('dist/witness'), 'dist was built again');
});

test('a wrong Node version gets one line with the remedy', async () => {
  for (const version of ['18.20.4', '20.10.0', '21.7.3', '23.11.0', '25.0.0']) {
    const versions = `data:text/javascript,Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`;
    const { status, out } = await new FakeProject().run(['--import', versions, 'scripts/setup.mjs']);
    assert.equal(status, 1);
    assert.match(out, new RegExp(`^set-up: this is Node ${version}, .*install one of these.*\\n$`));
  }
});

test('Node 24 on a system too old for its HTTP library gets one line with the remedy', async () => {
  const set = (glibc: string): string =>
    `data:text/javascript,Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '24.1.0' } }); process.report.getReport = () => ({ header: { glibcVersionRuntime: '${glibc}' } });`;
  const old = await new FakeProject().run(['--import', set('2.36'), 'scripts/setup.mjs']);
  assert.equal(old.status, 1);
  assert.match(
    old.out,
    /^set-up: this is Node 24\.1\.0, which needs glibc 2\.38 .* has 2\.36: install Node 20 .* or 22, .*\n$/,
  );
  const fit = await new FakeProject().run(['--import', set('2.38'), 'scripts/setup.mjs']);
  assert.equal(fit.status, 0, fit.out);
});

test('a missing compiler gets one line with the remedy, and is asked for again', async () => {
  const project = new FakeProject();
  rmSync(join(project.root, 'packages/node-lmdb'), { recursive: true });
  for (const installs of ['set-up: installing packages \\(npm ci\\)\\n', '']) {
    const { status, out } = await project.setUp();
    assert.equal(status, 1);
    assert.match(
      out,
      new RegExp(
        `^${installs}set-up: compiling node-lmdb for Node .*\\nset-up: No C\\+\\+ compiler found: install one.*\\n$`,
      ),
    );
  }
  assert.equal(project.npmCalls().length, 1, 'packages that are there are not installed again');
});

test('without a compiler the project goes without its addons, and says so', async () => {
  const project = new FakeProject();
  project.write('src/base/native/big-pages.cc', '');
  const { status, out } = await project.setUp();
  assert.equal(status, 0, out);
  assert.match(out, /set-up: without big-pages: No C\+\+ compiler found: install one.*\n$/);
  assert.ok(project.has('dist/src/main.js') && !project.has('dist/src/base/native/big-pages.node'));
});

test('a changed lock file installs, a changed ABI looks after the native part alone', async () => {
  const project = await readyProject();
  const stamp = project.read('node_modules/.sheaf-stamp.json');
  project.write('node_modules/.sheaf-stamp.json', stamp.replace(/-\d+"/, '-93"'));
  assert.deepEqual(await project.setUp(), { status: 0, out: '' });
  assert.equal(project.read('node_modules/.sheaf-stamp.json'), stamp);
  assert.equal(project.npmCalls().length, 1);
  project.write('package-lock.json', '{ "changed": true }');
  assert.match((await project.setUp()).out, /installing packages/);
  assert.equal(project.npmCalls().length, 2);
});

test('an npm ci cut short is done again', async () => {
  const project = await readyProject();
  project.write('package-lock.json', '{ "changed": true }');
  project.write('npm-breaks', '');
  const broken = await project.setUp();
  assert.equal(broken.status, 1);
  assert.match(broken.out, /set-up: npm ci failed: .*\n$/);
  unlinkSync(join(project.root, 'npm-breaks'));
  assert.equal((await project.setUp()).status, 0);
  assert.ok(project.has('node_modules/node-lmdb'));
});

test('a change builds what it touches, and nothing else', async () => {
  const project = await readyProject();
  const built = [
    'dist/src/main.js',
    'dist/src/client/client.js',
    'dist/src/client/client.d.ts',
    'dist/workers/shard/worker.js',
    'dist/src/engine/kernel.wasm',
    'dist/src/base/json-floats.wasm',
    'dist/src/console/page/index.html',
    'dist/src/docs/guide/boats.html',
    'dist/test/unit/boat.test.js',
  ];
  const changedBy = async (path: string, text: string): Promise<string[]> => {
    for (const output of built) utimesSync(join(project.root, output), 1, 1);
    project.write(path, text);
    assert.deepEqual(await project.setUp(), { status: 0, out: 'set-up: building what a changed file touches\n' });
    return built.filter((output) => statSync(join(project.root, output)).mtimeMs > 1000);
  };
  const client = project.read('src/client/client.ts');
  const withBody = client.replace('=> 1', '=> { return 2; }');
  assert.deepEqual(await changedBy('src/client/client.ts', withBody), [
    'dist/src/client/client.js',
    'dist/workers/shard/worker.js',
  ]);
  assert.equal((await project.run(['dist/workers/shard/worker.js'])).out, '2\n');
  assert.deepEqual(await changedBy('src/client/client.ts', withBody.replace('number', 'number | string')), [
    'dist/src/client/client.js',
    'dist/src/client/client.d.ts',
    'dist/workers/shard/worker.js',
  ]);
  assert.deepEqual(await changedBy('test/unit/boat.test.ts', "console.log('a boat');"), [
    'dist/test/unit/boat.test.js',
  ]);
  assert.deepEqual(await changedBy('src/engine/kernel/index.ts', 'export function two(): i32 { return 2; }'), [
    'dist/src/engine/kernel.wasm',
    'dist/src/base/json-floats.wasm',
  ]);
  assert.deepEqual(await changedBy('src/console/main.tsx', "document.title = 'ships';"), [
    'dist/src/console/page/index.html',
  ]);
  for (const path of ['docs/guide/boats.md', 'docs/guide/ships.md'])
    assert.deepEqual(await changedBy(path, '# Ships\n'), ['dist/src/docs/guide/boats.html']);
  assert.ok(project.has('dist/src/docs/guide/ships.html'));
});

test('a type that a validator checks is checked anew when it changes, in another file too', async () => {
  const project = await readyProject();
  assert.equal((await project.run(['dist/src/main.js', 'Nautilus'])).out, 'true\n');
  project.write('src/api/boat.ts', 'export interface Boat { name: number }');
  assert.equal((await project.setUp()).status, 0);
  assert.equal((await project.run(['dist/src/main.js', 'Nautilus'])).out, 'false\n');
  assert.match(project.read('dist/src/api/boat.d.ts'), /name: number/);
});

test('a file may come to use typia, and cease to', async () => {
  const project = await readyProject();
  const boat = project.read('src/boat.ts');
  project.write('src/boat.ts', "export const isBoat = (): string => 'no validator';");
  assert.equal((await project.setUp()).status, 0);
  assert.equal((await project.run(['dist/src/main.js', 'Nautilus'])).out, 'no validator\n');
  project.write('src/boat.ts', boat);
  assert.equal((await project.setUp()).status, 0);
  assert.equal((await project.run(['dist/src/main.js', 'Nautilus'])).out, 'true\n');
});

test('output of a deleted source goes, new files and assets come', async () => {
  const project = await readyProject();
  unlinkSync(join(project.root, 'src/main.ts'));
  unlinkSync(join(project.root, 'test/unit/boat.test.ts'));
  project.write('src/other.ts', '');
  project.write('workers/embed/table.bin', 'bytes');
  project.write('workers/embed/README.md', '');
  assert.deepEqual(await project.setUp(), { status: 0, out: 'set-up: building what 4 changed files touch\n' });
  assert.deepEqual(
    ['src/main.js', 'test/unit/boat.test.js', 'src/other.js', 'workers/embed/table.bin'].map((path) =>
      project.has(`dist/${path}`),
    ),
    [false, false, true, true],
  );
  const notShipped = ['workers/embed/README.md', 'src/engine/kernel', 'src/console/tsconfig.json'];
  assert.deepEqual(
    notShipped.filter((path) => project.has(`dist/${path}`)),
    [],
  );
});

test('a source that does not compile fails with its line, keeps the programs there are and is found again', async () => {
  const project = await readyProject();
  project.write('src/wrong.ts', 'a syntax error');
  for (let tries = 0; tries < 2; tries++) {
    const { status, out } = await project.setUp();
    assert.equal(status, 1);
    assert.match(out, /\nset-up: src\/wrong\.ts:1:3: Expected ";" but found "syntax"\n$/);
  }
  assert.equal((await project.run(['dist/src/main.js', 'Nautilus'])).out, 'true\n');
  project.write('src/wrong.ts', '');
  assert.equal((await project.setUp()).status, 0);
});

test('a build that is cut short is taken up again', async () => {
  const project = await readyProject();
  project.write('src/client/client.ts', 'export const one = (): number => 5;');
  const child = project.start(['scripts/setup.mjs']);
  await until(() => JSON.parse(project.read('dist/.build.json')).cutShort === true, 'the build does not begin');
  child.kill('SIGKILL');
  assert.equal((await project.setUp()).status, 0);
  assert.equal((await project.run(['dist/workers/shard/worker.js'])).out, '5\n');
});

test('two set-ups at once do the work once', async () => {
  const project = new FakeProject();
  const runs = await Promise.all([project.setUp(), project.setUp(), project.setUp()]);
  assert.deepEqual(
    runs.map(({ status }) => status),
    [0, 0, 0],
    runs.map(({ out }) => out).join(),
  );
  assert.equal(project.npmCalls().length, 1);
  assert.equal(runs.filter(({ out }) => out.includes('set-up: building')).length, 1);
});

test('the lock of a dead set-up is taken over', async () => {
  const project = new FakeProject();
  const dead = spawnSync(process.execPath, ['-e', '']).pid;
  symlinkSync(String(dead), join(project.root, '.setup-lock'));
  assert.equal((await project.setUp()).status, 0);
  assert.throws(() => readlinkSync(join(project.root, '.setup-lock')), { code: 'ENOENT' });
});
