// Path segments that provoke refusals, and the status lists that many rows of the specification share.

/** No slug: a space. */
export const NO_SLUG = 'no%20slug';
/** No text at all: a byte that no UTF-8 has. */
export const BAD_SEGMENT = '%FF';
/** A UUIDv7 that nobody has made. */
export const UNKNOWN_ID = '01900000-0000-7000-8000-000000000000';

export const READ = [401, 403, 422, 429, 500];
export const READ_ONE = [401, 403, 404, 422, 429, 500];
export const SEARCH = [401, 403, 422, 429, 500, 503];
