// `load server capacity` in its tiny form: it prints each CPU time of `sheaf capacity` beside what it measures. The
// figures of a tiny run mean nothing.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { CPU } from '../../../src/cli/capacity.js';

test('every CPU time of the calculator is printed beside a measured one', () => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['dist/load/main.js', 'server', 'capacity', '--tiny'],
    { encoding: 'utf8' },
  );
  assert.equal(status, 0, stderr);
  for (const [name, constant] of [
    ['vector search over HTTP, without the graph search', CPU.searchMs],
    ['graph search', CPU.graphSearch.ms],
    ['hybrid search, beyond a vector search', CPU.hybrid.ms],
    ['written vector, with its graph edges', CPU.write.ms],
  ] as const)
    assert.match(stdout, new RegExp(`^  ${name} +${constant.toFixed(3)} +-?(\\d+\\.\\d+|NaN) `, 'm'), stdout);
});
