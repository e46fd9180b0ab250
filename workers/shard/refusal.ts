// Which errors in a shard worker are refusals, to be told to the client: AppError as it is, and a full memory, which is no
// fault of ours either. Used by commands.ts and write.ts.
import { AppError } from '../../src/contract/errors.js';
import { ArenaFull } from './kernel.js';

/** The refusal in an error; undefined for a fault of ours. */
export function refusalOf(error: unknown): AppError | undefined {
  if (error instanceof AppError) return error;
  return error instanceof ArenaFull ? new AppError('storage_full', 'The memory of a shard is full.') : undefined;
}
