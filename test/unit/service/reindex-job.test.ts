// Reindex jobs as clients see them: what is not theirs is left out, and renamed fields are there under both names.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GateResult } from '../../../src/api/reindex.js';
import { jobAnswer } from '../../../src/service/reindex/jobs.js';
import type { StoredJob } from '../../../src/storage/catalog-commands.js';

const latency = { mean: 2, max: 3 };
const gate = { queries: 1, overlap: 1, rank_shift: 0, live_ms: latency, passed: true };
const STORED = {
  job_id: 'j',
  status: 'running',
  log_id: 7,
  staged_id: 8,
  cursors: ['a', null],
} as unknown as StoredJob;

test('a gate result that an earlier release stored has the new name as well', () => {
  const before = { ...gate, staged_ms: latency } as GateResult;
  assert.deepEqual(jobAnswer({ ...STORED, gate_result: before }).gate_result, {
    ...gate,
    staged_ms: latency,
    shadow_ms: latency,
  });
});

test('chunks that the graph lacks are told under both names, while they are known', () => {
  assert.deepEqual(jobAnswer({ ...STORED, unindexed_chunks: 0 }), {
    job_id: 'j',
    status: 'running',
    unindexed_chunks: 0,
    unlinked_chunks: 0,
  });
  assert.deepEqual(jobAnswer({ ...STORED, unlinked_chunks: 5 }), { job_id: 'j', status: 'running' });
});
