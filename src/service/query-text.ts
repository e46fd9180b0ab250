// The bound of the text of a search: what it costs to embed and to rank, and what the query log keeps of it, goes with
// its length. Asked by the search endpoints, and by a replay, for what was logged before there was a bound. Pure.
import { invalidField } from '../contract/errors.js';
import { QUERY_TEXT_BYTES_MAX } from '../contract/limits.js';

/** Throws a 422 about the field `at`. */
export function checkQueryText(at: string[], text: string): void {
  if (text.length * 3 > QUERY_TEXT_BYTES_MAX && Buffer.byteLength(text) > QUERY_TEXT_BYTES_MAX)
    throw invalidField(at, `a text has at most ${QUERY_TEXT_BYTES_MAX} bytes of UTF-8`, 'too_long');
}
