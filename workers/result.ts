// The result of a task as a worker sends it to the main thread: the value with its buffers transferred, a client
// error, or an internal error for the log.
import { Piscina, move } from 'piscina';
import { AppError, type Result } from '../src/api/errors.js';
import { internalErrorOf } from '../src/base/thread.js';

/** Runs `work` and returns its result. `movedIn` lists the buffers of the value to transfer. */
export async function resultOf<T>(
  work: () => T | Promise<T>,
  movedIn: (value: T) => ArrayBuffer[],
): Promise<Result<T>> {
  try {
    const value = await work();
    return move({
      [Piscina.transferableSymbol]: movedIn(value),
      [Piscina.valueSymbol]: { value },
    } as never) as unknown as Result<T>;
  } catch (error) {
    return error instanceof AppError ? { error: error.toWire() } : { internalError: internalErrorOf(error) };
  }
}
