// An archive process that is stopped while its output is being read.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../../../src/api/errors.js';
import { ArchiveProcess } from '../../../src/pool/archive-pool.js';

const LOG = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

test('a client that leaves before the first byte is told of as such, not as an internal error', async () => {
  const client = new AbortController();
  const archive = new ArchiveProcess(LOG, client.signal);
  const first = archive.output().next();
  client.abort();
  await assert.rejects(first, (error) => error instanceof AppError && /does not wait/.test(error.message));
  await archive.stop();
});
