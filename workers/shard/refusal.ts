// Which errors in a shard worker are refusals, to be told to the client: AppError as it is, and a full memory, which is no
// fault of ours either. Used by commands.ts and write.ts.
import { AssertionFailed } from '../../src/base/assert.js';
import { AppError } from '../../src/contract/errors.js';
import type { Outcome } from '../../src/contract/messages.js';
import { ArenaFull } from './kernel.js';

/** The refusal in an error; undefined for a fault of ours. */
export function refusalOf(error: unknown): AppError | undefined {
  if (error instanceof AppError) return error;
  return error instanceof ArenaFull ? new AppError('storage_full', 'The memory of a shard is full.') : undefined;
}

/** A refusal travels as data; a broken assertion ends the worker; anything else fails this command and is told as a fault. */
export function outcomeOf(error: unknown): Outcome<never> {
  const refusal = refusalOf(error);
  if (refusal) return { error: refusal.toWire() };
  if (error instanceof AssertionFailed) throw error;
  return { fault: error instanceof Error ? (error.stack ?? error.message) : String(error) };
}
