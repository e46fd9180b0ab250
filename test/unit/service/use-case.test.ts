// Internal errors get the code of their use case; client errors and other errors pass unchanged.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../../../src/api/errors.js';
import { WorkerError } from '../../../src/base/rpc.js';
import { withErrorCode } from '../../../src/service/use-case.js';

const failing = (error: Error): Promise<never> => withErrorCode('search_failed', () => Promise.reject(error));

test('a fault in a worker becomes the code, an error for the client stays what it is', async () => {
  await assert.rejects(failing(new WorkerError('x')), { code: 'search_failed' });
  await assert.rejects(failing(new AppError('dim_mismatch')), { code: 'dim_mismatch' });
  await assert.rejects(failing(new TypeError('bug')), TypeError);
  assert.equal(await withErrorCode('search_failed', () => Promise.resolve(7)), 7);
});
