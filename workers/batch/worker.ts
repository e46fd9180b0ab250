// A batch worker: work that takes longer than the front thread may, one task at a time. Asked by
// src/pool/batch-pool.ts. Errors go back as data: refusals for the client, faults for the log.
import { parentPort, threadId } from 'node:worker_threads';
import { move, Piscina, workerData } from 'piscina';
import { sharedIn } from '../../src/base/bytes.js';
import { faultOf, reportMemory, yieldToSearches } from '../../src/base/thread.js';
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
import { AppError, type Outcome } from '../../src/api/errors.js';
import type { LoadedNote } from '../../src/base/log.js';
import { prepareDocument, prepareLines as prepareSlice, sliceBatch } from './commands.js';

yieldToSearches();
parentPort?.postMessage({ loaded: threadId } satisfies LoadedNote);

export function prepare({ report, ...request }: PrepareRequest & Reported): Promise<Outcome<PrepareAnswer>> {
  return outcomeOf(report, () => prepareDocument(request, workerData as BatchWorkerStart), sharedIn);
}

export function splitBatch({ report, ...request }: SplitBatchRequest & Reported): Promise<Outcome<LineSlice[]>> {
  return outcomeOf(
    report,
    () => sliceBatch(request),
    (slices) => slices.map(({ bytes }) => bytes.buffer as ArrayBuffer),
  );
}

export function prepareLines({ report, ...request }: PrepareLinesRequest & Reported): Promise<Outcome<PreparedLines>> {
  return outcomeOf(
    report,
    () => prepareSlice(request),
    ({ groups }) => groups.flatMap((group) => sharedIn(group)),
  );
}

/** `movedIn`: the buffers of an answer that are moved to the front thread instead of copied. */
async function outcomeOf<T>(
  report: SharedArrayBuffer,
  work: () => T | Promise<T>,
  movedIn: (answer: T) => ArrayBuffer[],
): Promise<Outcome<T>> {
  const stop = reportMemory(report);
  try {
    const answer = await work();
    const buffers = movedIn(answer);
    return move({
      [Piscina.transferableSymbol]: buffers,
      [Piscina.valueSymbol]: { value: answer },
    } as never) as unknown as Outcome<T>;
  } catch (error) {
    if (error instanceof AppError) return { error: error.toWire() };
    return { fault: faultOf(error) };
  } finally {
    stop();
  }
}
