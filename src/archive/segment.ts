// The segments of an archive: documents with their chunks, and logged searches, in msgpack, one behind the other. Documents
// are checked as an ingest checks them. Pure; used by the archive process and the import.
import { Packr, Unpackr } from 'msgpackr';
import typia from 'typia';
import { DOCID_BYTES_MAX } from '../contract/ids.js';
import { ArchiveFault } from './archive-fault.js';
import type { ArchivedDocument, ArchivedQuery } from './archived-records.js';
import { faultOfDocument, type DocumentRules } from './document-fault.js';

/** A segment is full when it has so much; a document larger than that has one for itself. */
export const SEGMENT_BYTES = 4 * 1024 * 1024;
/** No reader takes a larger one: the largest document, with its vectors. */
export const SEGMENT_BYTES_MAX = 2 ** 31 - 1;

const packr = new Packr({ useRecords: false });
const unpackr = new Unpackr({ useRecords: false });
const isDocument = typia.createIs<ArchivedDocument>();
const isQuery = typia.createIs<ArchivedQuery>();

export const packDocument = (document: ArchivedDocument): Buffer => packr.pack(document);
export const packQuery = (query: ArchivedQuery): Buffer => packr.pack(query);

/** The documents of a segment, checked; their vectors are views of `bytes`. Throws ArchiveFault. */
export function unpackDocuments(bytes: Uint8Array, rules: DocumentRules): ArchivedDocument[] {
  return unpacked(bytes).map((value, place) => {
    const why = !isDocument(value) ? 'it has a wrong shape' : faultOfDocument(value, rules);
    if (why !== undefined)
      throw new ArchiveFault('document_invalid', `A document (${nameOf(value, place)}) is invalid: ${why}.`);
    return value as ArchivedDocument;
  });
}

/** By its id, where it has one that can be told. */
function nameOf(value: unknown, place: number): string {
  const docid: unknown = (value as { docid?: unknown } | null)?.docid;
  return typeof docid === 'string' && docid !== '' && docid.length <= DOCID_BYTES_MAX
    ? docid
    : `${place} of its segment`;
}

/** The logged searches of a segment; what is in their records is checked by whoever decodes them. Throws ArchiveFault. */
export function unpackQueries(bytes: Uint8Array): ArchivedQuery[] {
  return unpacked(bytes).map((value) => {
    if (!isQuery(value) || !isUuid7(value.id))
      throw new ArchiveFault('query_invalid', 'A logged search has a wrong shape.');
    return value;
  });
}

/** The log finds its entries by the time in their ids. */
const isUuid7 = (id: Uint8Array): boolean =>
  id.length === 16 && (id[6] as number) >> 4 === 7 && (id[8] as number) >> 6 === 2;

function unpacked(bytes: Uint8Array): unknown[] {
  try {
    return unpackr.unpackMultiple(bytes as Buffer) as unknown[];
  } catch {
    throw new ArchiveFault('document_invalid', 'A segment is no msgpack.');
  }
}
