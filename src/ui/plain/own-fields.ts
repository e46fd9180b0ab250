// Metadata without what the server puts into all of it, and the file's name among that.
// Pure; used for documents and hits, which show those elsewhere.

const ALWAYS_THERE = new Set(['docid', 'ingested_at', 'offset', 'filename']);

/** The name of the file that a document came as, unless its id says it. */
export function fileNameBeside(docid: string, filename: unknown): string | undefined {
  return typeof filename === 'string' && filename !== docid && !docid.endsWith(`/${filename}`) ? filename : undefined;
}

export const ownFields = (meta: Readonly<Record<string, unknown>>): [string, unknown][] =>
  Object.entries(meta).filter(([name]) => !ALWAYS_THERE.has(name));
