// The two halves of a chunk id, `document::path`. A document id may have `::` in it, a path has none.
// Pure; used by whatever links to chunks.

export const docidOf = (rid: string): string => rid.slice(0, rid.lastIndexOf('::'));

export const chunkPathOf = (rid: string): string => rid.slice(rid.lastIndexOf('::') + 2);
