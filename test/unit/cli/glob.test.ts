// File patterns, each with paths that it matches and paths that it does not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileGlob } from '../../../src/cli/files.js';

const CASES: [pattern: string, takes: string[], leaves: string[]][] = [
  ['**', ['a', 'a.md', 'a/b/c.md'], []],
  ['*.md', ['a.md', 'x/y/a.md', '.md'], ['a.mdx', 'a.md/b']],
  ['README.md', ['README.md', 'x/README.md'], ['readme.md', 'READMEXmd', 'xREADME.md']],
  ['guide/*.txt', ['guide/a.txt'], ['a.txt', 'guide/x/a.txt', 'x/guide/a.txt']],
  ['guide/**/*.txt', ['guide/a.txt', 'guide/x/y/a.txt'], ['guidea.txt', 'x/guide/a.txt']],
  ['**/test/**', ['test/a', 'x/test/y/a'], ['xtest/a']],
  ['?.{md,txt}', ['a.md', 'b/ä.txt'], ['ab.md', 'a.rst', '.md']],
  ['{a,b}{1,2}', ['a1', 'b2'], ['a', 'ab', 'a1,']],
  ['a,b', ['a,b'], ['a', 'b']],
  ['[ab].md', ['a.md', 'x/b.md'], ['c.md', 'ab.md']],
];

for (const [pattern, takes, leaves] of CASES) {
  test(`--glob ${pattern}`, () => {
    const matches = compileGlob(pattern);
    assert.deepEqual(
      takes.filter((path) => !matches(path)),
      [],
    );
    assert.deepEqual(leaves.filter(matches), []);
  });
}

test('an open brace is refused', () => {
  assert.throws(() => compileGlob('*.{md,txt'), { name: 'UsageError' });
});
