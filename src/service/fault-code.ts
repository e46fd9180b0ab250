// Translates the internal error of a worker, which has been logged already, to the error code of the use case. Runs on
// the front thread.
import { AppError, type ErrorCode } from '../api/errors.js';
import { WorkerFault } from '../pool/worker-pool.js';

/** Returns what `work` returns; replaces a WorkerFault by an AppError with `code`. */
export async function withFaultCode<T>(code: ErrorCode, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof WorkerFault ? new AppError(code) : error;
  }
}
