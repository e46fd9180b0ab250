// Messages of a command log on several shards, in other batches, with ends in the middle of a message: all shards come to
// the same state, and refuse the same commands. A command that this machine has no room for is not refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCommandLog } from '../../../load/stress/command-log.js';
import { tempDirectory } from '../../kit/temp.js';

for (const seed of [1, 2, 3, 4])
  test(`shards that apply the same log are the same, seed ${seed}`, () => {
    const report = runCommandLog(tempDirectory(), seed, 1200);
    assert.deepEqual(report.differences, []);
    assert.ok(
      report.refused > 0 &&
        report.cuts > 10 &&
        report.stalls > 10 &&
        report.compared > 10 &&
        report.placed > 0 &&
        report.kept > 10,
      JSON.stringify(report),
    );
  });
