// Metadata without what the server puts into all of it.
// Pure; used for documents and hits, which show those elsewhere.

const ALWAYS_THERE = new Set(['docid', 'ingested_at', 'offset', 'filename']);

export const ownFields = (meta: Readonly<Record<string, unknown>>): [string, unknown][] =>
  Object.entries(meta).filter(([name]) => !ALWAYS_THERE.has(name));
