// Which errors in the owner of a shard or a search worker are refusals, to be told to the client: AppError as it is, a
// full memory, and damage on the disk, which are no faults of ours either. Any thread.
import { AssertionFailed } from '../base/assert.js';
import { faultOf } from '../base/thread.js';
import { AppError, type Outcome } from '../api/errors.js';
import type { CollectionId } from '../api/ids.js';
import { DamagedRecord } from '../storage/damage.js';
import { ArenaFull } from './memory/bindings.js';

/** The refusal in an error; undefined for a fault of ours. */
export function refusalOf(error: unknown): AppError | undefined {
  if (error instanceof AppError) return error;
  return error instanceof ArenaFull ? new AppError('storage_full', 'The memory of a shard is full.') : undefined;
}

/**
 * A refusal travels as data, and so does damage: to the collection that the record belongs to, else to the one that was
 * asked for. A broken assertion ends the worker; anything else fails this command and is told as a fault.
 */
export function outcomeOf(error: unknown, asked?: CollectionId): Outcome<never> {
  const refusal = refusalOf(error);
  if (error instanceof DamagedRecord)
    return {
      error: new AppError('collection_damaged', error.message, { collection: error.collection ?? asked }).toWire(),
    };
  if (refusal) return { error: refusal.toWire() };
  if (error instanceof AssertionFailed) throw error;
  return { fault: faultOf(error) };
}
