// The type in a Content-Type: `text/csv; charset=utf-8` says `text/csv`. Pure.
// Used where a body or a file is told by the type its sender gives it.

/** In lower case, without parameters; '' where there is none. */
export const mediaTypeOf = (contentType: string): string => (contentType.split(';')[0] ?? '').trim().toLowerCase();
