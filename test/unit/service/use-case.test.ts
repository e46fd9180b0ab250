// Faults of ours get the code of their use case; refusals and other errors pass.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../../../src/api/errors.js';
import { WorkerFault } from '../../../src/pool/worker-pool.js';
import { withFaultCode } from '../../../src/service/use-case.js';

const failing = (error: Error): Promise<never> => withFaultCode('search_failed', () => Promise.reject(error));

test('a fault in a worker becomes the code, a refusal stays what it is', async () => {
  await assert.rejects(failing(new WorkerFault('x')), { code: 'search_failed' });
  await assert.rejects(failing(new AppError('dim_mismatch')), { code: 'dim_mismatch' });
  await assert.rejects(failing(new TypeError('bug')), TypeError);
  assert.equal(await withFaultCode('search_failed', () => Promise.resolve(7)), 7);
});
