// Gives an internal error of a worker, which has been logged already, the code of the use case it happened in. Front
// thread.
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
