// The set-up script on a small project: what a fresh clone, a change, a fault and a second terminal make of it.
// The real compiler and the real packages are tried by every `npm test`, which runs the script first.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readlinkSync, rmSync, symlinkSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { FakeProject } from '../../kit/scripts/fake-project.js';

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
  for (const path of ['dist/src/main.js', 'dist/workers/shard/kernel.wasm']) assert.ok(project.has(path), path);
});

test('with nothing to do it says and does nothing', async () => {
  const project = await readyProject();
  project.write('dist/witness', '');
  assert.deepEqual(await project.setUp(), { status: 0, out: '' });
  assert.equal(project.npmCalls().length, 1);
  assert.ok(project.has('dist/witness'), 'dist was built again');
});

test('a wrong Node version gets one line with the remedy', async () => {
  for (const version of ['18.20.4', '20.10.0', '21.7.3', '24.1.0']) {
    const versions = `data:text/javascript,Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`;
    const { status, out } = await new FakeProject().run(['--import', versions, 'scripts/setup.mjs']);
    assert.equal(status, 1);
    assert.match(out, new RegExp(`^set-up: this is Node ${version}, .*install one of these.*\\n$`));
  }
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

test('output of a deleted source goes, new files and assets come', async () => {
  const project = await readyProject();
  unlinkSync(join(project.root, 'src/main.ts'));
  project.write('src/other.ts', '');
  project.write('workers/embed/table.bin', 'bytes');
  project.write('workers/embed/README.md', '');
  project.write('workers/shard/assembly/tsconfig.json', '');
  assert.deepEqual(await project.setUp(), { status: 0, out: 'set-up: building\n' });
  assert.deepEqual(
    ['src/main.js', 'src/other.js', 'workers/embed/table.bin'].map((path) => project.has(`dist/${path}`)),
    [false, true, true],
  );
  assert.deepEqual(
    ['workers/embed/README.md', 'workers/shard/assembly'].map((path) => project.has(`dist/${path}`)),
    [false, false],
  );
});

test('a type error fails with its line, keeps the old build and is found again', async () => {
  const project = await readyProject();
  project.write('src/wrong.ts', 'a type error');
  for (let tries = 0; tries < 2; tries++) {
    const { status, out } = await project.setUp();
    assert.equal(status, 1);
    assert.match(out, /src\/wrong\.ts\(1,1\): error TS1\nset-up: the TypeScript build failed: .*\n$/);
  }
  assert.ok(project.has('dist/src/main.js'));
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
