// scripts/test.mjs on a few compiled tests: which files it runs, and its exit code.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeProject } from '../../kit/scripts/fake-project.js';

function projectWithTests(): FakeProject {
  const project = new FakeProject();
  const testing = (body: string): string => `require('node:test').test('one', () => { ${body} });`;
  project.write('dist/test/http/good.test.js', testing(''));
  project.write('dist/test/store/bad.test.js', testing("throw new Error('planted')"));
  project.write('dist/test/kit/not-a-test.js', testing("throw new Error('planted')"));
  return project;
}

test('a failing test fails the run, whose last lines name it and are the summary', async () => {
  const { status, out } = await projectWithTests().run(['scripts/test.mjs']);
  assert.equal(status, 1);
  assert.match(out, /\n1\.\.2\n# FAILED dist\/test\/store\/bad\.test\.js: one\n# Error: planted\n(#.*\n)*# tests 2\n/);
  assert.match(out, /# tests 2\n(# .*\n)*# pass 1\n# fail 1\n(# .*\n)*$/);
});

test('words choose files by their path, options go to Node', async () => {
  const project = projectWithTests();
  assert.match((await project.run(['scripts/test.mjs', 'http'])).out, /# tests 1\n(# .*\n)*# pass 1\n/);
  assert.equal((await project.run(['scripts/test.mjs', 'http', '--test-reporter-destination=out.txt'])).out, '');
  assert.match(project.read('out.txt'), /# pass 1\n/);
});

test('no matching file is an error', async () => {
  assert.deepEqual(await projectWithTests().run(['scripts/test.mjs', 'nowhere']), {
    status: 1,
    out: "no test file's path contains nowhere\n",
  });
});
