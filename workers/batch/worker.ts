// The thread module of batch workers, which parse, extract and chunk documents, one task at a time. Tasks come from
// src/pool/batch-pool.ts.
import { workerData } from 'node:worker_threads';
import type { Result } from '../../src/api/errors.js';
import { sharedIn } from '../../src/base/bytes.js';
import { noteReady, reportMemory, yieldToSearches } from '../../src/base/thread.js';
import type {
  BatchWorkerStart,
  LineSlice,
  PrepareAnswer,
  PrepareLinesRequest,
  PrepareRequest,
  PreparedLines,
  Reported,
  SplitBatchRequest,
} from '../../src/extract/messages.js';
import { resultOf } from '../result.js';
import { prepareDocument, prepareLines as prepareSlice, sliceBatch } from './commands.js';

yieldToSearches();
noteReady();

export function prepare({ report, ...request }: PrepareRequest & Reported): Promise<Result<PrepareAnswer>> {
  return reported(report, () => prepareDocument(request, workerData as BatchWorkerStart), sharedIn);
}

export function splitBatch({ report, ...request }: SplitBatchRequest & Reported): Promise<Result<LineSlice[]>> {
  return reported(
    report,
    () => sliceBatch(request),
    (slices) => slices.map(({ bytes }) => bytes.buffer as ArrayBuffer),
  );
}

export function prepareLines({ report, ...request }: PrepareLinesRequest & Reported): Promise<Result<PreparedLines>> {
  return reported(
    report,
    () => prepareSlice(request),
    ({ groups }) => groups.flatMap((group) => sharedIn(group)),
  );
}

/** Runs a task while reporting the memory it takes to the pool. */
async function reported<T>(
  report: SharedArrayBuffer,
  work: () => T | Promise<T>,
  movedIn: (answer: T) => ArrayBuffer[],
): Promise<Result<T>> {
  const stop = reportMemory(report);
  try {
    return await resultOf(work, movedIn);
  } finally {
    stop();
  }
}
