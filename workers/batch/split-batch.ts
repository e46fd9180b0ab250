// The body of a JSON batch, checked as far as it can be without its items, and cut into slices of lines. Batch worker
// only. Called by worker.ts; the slices are prepared one by one, in turn with what other tenants ask.
import type { LineSlice, SplitBatchRequest } from '../../src/contract/batch-messages.js';
import { AppError, invalidField } from '../../src/contract/errors.js';
import { sliceItems } from '../../src/text/lines.js';
import { splitBatch, type SplitBatch } from '../../src/text/split-batch.js';

/** Of a name that the caller has made up, as it is told back. */
const NAME_CHARACTERS_MAX = 100;

/** Throws `invalid_json`, 422 where the body is no `{documents: [at least one]}`, 413 for more than `itemsMax`. */
export function sliceBatch({ bytes, itemsMax }: SplitBatchRequest): LineSlice[] {
  const { skeleton, count, items } = split(bytes, itemsMax);
  if (typeof skeleton !== 'object' || skeleton === null || Array.isArray(skeleton))
    throw invalidField(['body'], 'Should be an object.', 'type_error');
  const { documents, ...others } = skeleton as Record<string, unknown>;
  const [extra] = Object.keys(others);
  if (extra !== undefined)
    throw invalidField(['body', extra.slice(0, NAME_CHARACTERS_MAX)], 'There is no such field.', 'extra_forbidden');
  if (documents === undefined) throw invalidField(['body', 'documents'], 'Field required.', 'missing');
  if (!Array.isArray(documents)) throw invalidField(['body', 'documents'], 'Should be a list.', 'list_type');
  if (count === 0) throw invalidField(['body', 'documents'], 'Should have at least one item.', 'too_short');
  if (count > itemsMax) {
    throw new AppError('request_too_large', `A batch has at most ${itemsMax} documents; NDJSON has no bound.`, {
      details: { limit_items: itemsMax, items: count },
    });
  }
  return sliceItems(items);
}

function split(bytes: Uint8Array, itemsMax: number): SplitBatch {
  try {
    return splitBatch(bytes, itemsMax);
  } catch (error) {
    if (error instanceof RangeError)
      throw invalidField(
        ['body'],
        'Should be an object with the list `documents` and nothing else.',
        'extra_forbidden',
      );
    throw new AppError('invalid_json');
  }
}
