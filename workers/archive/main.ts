// The main module of an archive process, which runs one task for the server that started it (src/pool/archive-pool.ts)
// and exits. It is a process rather than a thread, because LMDB lets other processes read regardless of the threads
// that own the environments, and because its memory and CPU time are then separate. It runs at lower priority than the
// server, and exits when the server is gone.
import { ArchiveError, type ArchiveCode } from '../../src/archive/format.js';
import { ArchiveReader } from '../../src/archive/reader.js';
import { assert, defined } from '../../src/base/assert.js';
import { internalErrorOf } from '../../src/base/thread.js';
import type { ArchiveTask, ReadTask } from '../../src/archive/messages.js';
import { AppError } from '../../src/api/errors.js';
import { handOver, nextOrder, tell, theTask, writeArchive, yieldCpu } from './commands.js';
import { verify } from '../../src/archive/verify.js';

async function readArchive(task: ReadTask): Promise<void> {
  yieldCpu();
  const reader = await ArchiveReader.open(task.path, task.unpackedBytesMax);
  const { manifests, archive } = await verify(reader, task);
  let ordered = nextOrder();
  await tell({ event: 'verified', archive });
  for (;;) {
    const order = await ordered;
    assert(order.order === 'hand', 'an order to hand over');
    await handOver(reader, defined(manifests[order.place], 'a collection of the archive'), order, task);
    ordered = nextOrder();
  }
}

async function run(task: ArchiveTask): Promise<void> {
  const code: ArchiveCode =
    task.op === 'read' && task.kind !== 'dataset' ? 'collection_archive_invalid' : 'archive_invalid';
  try {
    await (task.op === 'write' ? writeArchive(task) : readArchive(task));
    await tell({ event: 'done', bytes: process.stdout.bytesWritten });
  } catch (error) {
    const clientError = error instanceof ArchiveError ? error.clientError(code) : error;
    if (clientError instanceof AppError) await tell({ event: 'refused', error: clientError.toWire() });
    else await tell({ event: 'failed', problem: internalErrorOf(error) });
    process.exitCode = 1;
  }
  if (process.connected) process.disconnect();
}

// A terminal sends Ctrl-C to all processes of the group; the server decides when this process ends.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);
process.on('disconnect', () => process.exit());
void theTask().then(run);
