// The output of an archive process: read late, and stopped while it is being read.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import JSZip from 'jszip';
import { AppError } from '../../../src/api/errors.js';
import { ArchiveProcess } from '../../../src/pool/archive-pool.js';
import { tempDirectory } from '../../kit/temp.js';

const LOG = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

test('a client that leaves before the first byte is told of as such, not as an internal error', async () => {
  const client = new AbortController();
  const archive = new ArchiveProcess(LOG, client.signal);
  const first = archive.output().next();
  client.abort();
  await assert.rejects(first, (error) => error instanceof AppError && /does not wait/.test(error.message));
  await archive.stop();
});

test('nothing is lost of what a process has written when it ends before anybody reads it', async () => {
  const archive = new ArchiveProcess(LOG, new AbortController().signal);
  archive.give({ op: 'write', directory: tempDirectory(), shards: 0, logStores: 0, hasOthersLogs: false });
  await archive.note('ready');
  archive.give({
    order: 'snap',
    moment: { createdAtMs: 0, sources: [], dataset: { tenants: { tenants: [], keys: [] }, aliases: [], leftOut: [] } },
  });
  for (const told of ['opened', 'begun', 'done'] as const) await archive.note(told);
  while (!archive.isOver) await sleep(1);
  const pieces: Uint8Array[] = [];
  for await (const piece of archive.output()) pieces.push(piece);
  assert.deepEqual(Object.keys((await JSZip.loadAsync(Buffer.concat(pieces))).files), [
    'tenants.json',
    'manifest.json',
  ]);
});
