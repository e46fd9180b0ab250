// Maps errors of shard owners and search workers to what clients receive: AppError, full memory and damaged records are
// reported to the client; anything else is an internal error. Any thread.
import { AssertionFailed } from '../base/assert.js';
import { internalErrorOf } from '../base/thread.js';
import { AppError, type Result } from '../api/errors.js';
import type { CollectionId } from '../api/ids.js';
import { DamagedRecord } from '../storage/damage.js';
import { ArenaFull } from './memory/bindings.js';

/** The AppError that a client receives for an error; undefined if it is an internal error. */
export function clientErrorOf(error: unknown): AppError | undefined {
  if (error instanceof AppError) return error;
  return error instanceof ArenaFull ? new AppError('storage_full', 'The memory of a shard is full.') : undefined;
}

const OF_MACHINE: ReadonlySet<string> = new Set(['storage_full', 'storage_failed', 'collection_damaged']);

/** Whether the error says what this machine lacks, and another one may have. */
export const isOfMachine = ({ code }: { readonly code: string }): boolean => OF_MACHINE.has(code);

/**
 * The result of a failed command, as data. Damage is attributed to the collection of the record, or to the collection
 * `asked` for. A failed assertion is thrown again and ends the worker; anything else fails only this command, as an
 * internal error.
 */
export function resultOf(error: unknown, asked?: CollectionId): Result<never> {
  const clientError = clientErrorOf(error);
  if (error instanceof DamagedRecord)
    return {
      error: new AppError('collection_damaged', error.message, { collection: error.collection ?? asked }).toWire(),
    };
  if (clientError) return { error: clientError.toWire() };
  if (error instanceof AssertionFailed) throw error;
  return { internalError: internalErrorOf(error) };
}
