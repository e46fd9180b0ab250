// scripts/test.mjs on a few built tests: which files it runs, how it reports a failure, and its exit code.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeProject } from '../../kit/scripts/fake-project.js';

function projectWithTests(): FakeProject {
  const project = new FakeProject();
  const testing = (body: string): string =>
    `import { test } from 'node:test'; test('one', () => { ${body} }); test('two', () => {});`;
  project.write('dist/test/unit/http/good.test.js', testing(''));
  project.write('dist/test/unit/store/bad.test.js', testing("throw new Error('planted')"));
  project.write('dist/test/kit/not-a-test.js', testing("throw new Error('planted')"));
  project.write('dist/test/system/other.test.js', testing("throw new Error('planted')"));
  return project;
}

const run = (project: FakeProject, ...args: string[]) => project.run(['scripts/test.mjs', ...args]);

test('a failing test fails the run, whose last lines name it and are the summary', async () => {
  const { status, out } = await run(projectWithTests(), '--tier', 'unit');
  assert.equal(status, 1);
  assert.match(out, /\n1\.\.4\n# FAILED test\/unit\/store\/bad\.test\.ts: one\n# Error: planted\n(#.*\n)*# tests 4\n/);
  assert.match(out, /# tests 4\n(# .*\n)*# pass 3\n# fail 1\n(# .*\n)*$/);
});

test('a stack names the line of the source', async () => {
  const project = new FakeProject();
  project.write(
    'test/unit/wrong.test.ts',
    "import { test } from 'node:test';\ninterface Unused { a: 1 }\n\ntest('one', () => {\n  throw new Error('planted');\n});\n",
  );
  assert.equal((await project.setUp()).status, 0);
  assert.match(
    (await run(project, '--tier', 'unit', 'wrong')).out,
    /# Error: planted\n# +at .*\(test\/unit\/wrong\.test\.ts:5:9\)\n/,
  );
});

test('words choose files of the tiers by their path', async () => {
  const project = projectWithTests();
  const { status, out } = await run(project, '--tier', 'unit', '--tier', 'system', 'http');
  assert.equal(status, 0);
  assert.match(out, /# tests 2\n(# .*\n)*# pass 2\n/);
  assert.match((await run(project, '--tier', 'unit', '--tier', 'system')).out, /# tests 6\n/);
});

test('one file, by its source or a part of its path, and of its tests those with a name', async () => {
  const project = projectWithTests();
  for (const path of ['test/unit/store/bad.test.ts', 'dist/test/unit/store/bad.test.js', 'store/bad']) {
    const { status, out } = await run(project, '--one', path, '-t', 'two');
    assert.equal(status, 0, out);
    // The other tests are skipped on Node 20, and not even counted on later versions.
    assert.match(out, /# pass 1\n# fail 0\n/);
  }
  assert.deepEqual(await run(project, '--one', 'test/unit/gone.test.ts'), {
    status: 1,
    out: 'there is no test file test/unit/gone.test.ts\n',
  });
});

test('no matching file is an error', async () => {
  assert.deepEqual(await run(projectWithTests(), '--tier', 'unit', 'nowhere'), {
    status: 1,
    out: "no test file's path contains nowhere\n",
  });
});
