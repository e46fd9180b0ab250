// How searches and documents go over the wire: JSON or MessagePack, with vectors as numbers or as bytes of float32.
import { Packr } from 'msgpackr';
import type { IngestBody } from '../api/documents.js';
import type { FusedQuery, SearchBody } from '../api/search.js';

export type Encoding = 'json' | 'msgpack';

/** A Float32Array is sent as bytes: in base64 with `json`, binary with `msgpack`; of `queries` always in base64. */
type Vector = number[] | Float32Array | null;

export type SearchRequest = Omit<SearchBody, 'v' | 'queries'> & { v?: Vector; queries?: QueryRequest[] | null };
export type QueryRequest = Omit<FusedQuery, 'v'> & { v?: Vector };
export type DocumentRequest = Omit<IngestBody, 'vector'> & { vector?: Vector };

export const MSGPACK_TYPE = 'application/msgpack';

/** Undefined fields are left out, as in JSON. The declarations of msgpackr lack `skipValues`. */
const OPTIONS = { useRecords: false, skipValues: [undefined] };
const packr = new Packr(OPTIONS);

export const packed = (body: object): Uint8Array<ArrayBuffer> => new Uint8Array(packr.pack(body));
export const unpacked = (bytes: Uint8Array): object => packr.unpack(bytes) as object;

export function searchBody({ queries, ...search }: SearchRequest, encoding: Encoding): object {
  const encoded: { v?: Vector; queries?: object[] } = search;
  if (queries) encoded.queries = queries.map((query) => withBytes(query, 'v', 'json'));
  return withBytes(encoded, 'v', encoding);
}

export const documentBody = (document: DocumentRequest, encoding: Encoding): object =>
  withBytes(document, 'vector', encoding);

function withBytes<F extends string>(body: { readonly [Field in F]?: Vector }, field: F, encoding: Encoding): object {
  const { [field]: vector, ...rest } = body;
  if (!(vector instanceof Float32Array)) return body;
  const bytes = new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
  return encoding === 'msgpack' ? { ...rest, [field]: bytes } : { ...rest, v_base64: base64Of(bytes) };
}

/** What `btoa` takes at a time, since a function has so many arguments at most; a multiple of three. */
const SLICE_BYTES = 3 * 4096;

function base64Of(bytes: Uint8Array): string {
  let text = '';
  for (let from = 0; from < bytes.length; from += SLICE_BYTES)
    text += btoa(String.fromCharCode(...bytes.subarray(from, from + SLICE_BYTES)));
  return text;
}
