// Gives a fault of ours in a worker the code of the use case it happened in. The fault has been logged already.
// Used by the ingest and search use cases, on the front thread.
import { AppError, type ErrorCode } from '../api/errors.js';
import { WorkerFault } from '../pool/worker-pool.js';

/** What `work` answers; AppError `code` in place of a WorkerFault. */
export async function withFaultCode<T>(code: ErrorCode, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof WorkerFault ? new AppError(code) : error;
  }
}
