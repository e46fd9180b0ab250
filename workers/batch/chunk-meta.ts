// The metadata of a chunk: where it stands in its document, and what the file says of it. A hit shows it together with
// the metadata of the document, where a field of the caller's may have the name of one of ours: then the name is the
// caller's, and ours stand apart. Pure; used by cut.ts in the batch worker.

type Fields = Readonly<Record<string, unknown>>;

const APART = 'provenance';

/** `place`: ours. `fields`: of the file, for this chunk. `document`: what the caller gave for all chunks. */
export function chunkMeta(place: Fields, fields: Fields, document: Fields): Fields {
  const isTaken = (name: string): boolean => Object.hasOwn(fields, name) || Object.hasOwn(document, name);
  const names = Object.keys(place);
  if (!names.some(isTaken)) return { ...place, ...fields };
  let apart = APART;
  while (isTaken(apart)) apart = `_${apart}`;
  const free = Object.fromEntries(names.filter((name) => !isTaken(name)).map((name) => [name, place[name]]));
  return { ...free, ...fields, [apart]: place };
}
