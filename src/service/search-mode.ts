// Which mode a search runs in: what it asks for, else the collection's default, if the instance serves it. Pure.
// Called by the search use case, on the front thread.
import { AppError } from '../contract/errors.js';
import type { Collection, SearchMode } from '../contract/resources.js';

const MODES: readonly SearchMode[] = ['vector', 'boost', 'hybrid'];

/** A mode this instance serves. Throws `invalid_search_mode` or `search_mode_disabled`. */
export function servedMode(mode: string, served: readonly SearchMode[]): SearchMode {
  if (!(MODES as readonly string[]).includes(mode))
    throw new AppError('invalid_search_mode', `Search modes are ${MODES.join(', ')}.`);
  if (!served.includes(mode as SearchMode))
    throw new AppError('search_mode_disabled', `This instance serves: ${served.join(', ')}.`);
  return mode as SearchMode;
}

/** The mode of what names none: `vector` where it is served. */
export const defaultMode = (served: readonly SearchMode[]): SearchMode =>
  served.includes('vector') ? 'vector' : (served[0] as SearchMode);

/**
 * A collection whose default wants a text answers a vector in mode vector; asking for such a mode with a vector is
 * refused.
 */
export function searchMode(
  asked: string | undefined,
  byVector: boolean,
  collection: Collection | undefined,
  served: readonly SearchMode[],
): SearchMode {
  if (byVector && (asked === 'boost' || asked === 'hybrid')) throw new AppError('search_mode_requires_text');
  const unasked = byVector ? 'vector' : (collection?.search_mode ?? defaultMode(served));
  return servedMode(asked ?? unasked, served);
}
