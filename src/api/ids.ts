// Names and ids of the API: slugs, document ids and chunk ids. A slug never becomes a file path: storage uses the numeric
// collection id. Pure.
import { AppError, type ErrorCode } from './errors.js';

declare const brand: unique symbol;
type Branded<T, B> = T & { readonly [brand]: B };

export type Tenant = Branded<string, 'tenant'>;
export type CollectionName = Branded<string, 'collection name'>;
export type DocId = Branded<string, 'docid'>;
/** Storage key of a collection. Never reused, and never visible to clients. */
export type CollectionId = Branded<number, 'collection id'>;
/** Arena and row of a chunk in its shard: the key of its records and of its vector. Reused after a delete. */
export type Ordinal = Branded<number, 'ordinal'>;

/** Slugs of tenants and collections. */
export const SLUG = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
export const CONTROL_CHARACTERS = /[\u0000-\u001f\u007f-\u009f]/;
export const DOCID_BYTES_MAX = 512;

function slug<T>(value: string, code: ErrorCode, what: string): T {
  if (SLUG.test(value)) return value as T;
  throw new AppError(code, `A ${what} starts with a letter or digit and has up to 128 characters of A-Z a-z 0-9 . _ -`);
}

export const isSlug = (value: string): boolean => SLUG.test(value);
export const asTenant = (value: string): Tenant => slug(value, 'invalid_tenant_name', 'tenant slug');
export const asCollectionName = (value: string): CollectionName =>
  slug(value, 'invalid_collection_name', 'collection slug');

/**
 * Validates a document id: 1 to 512 bytes of well-formed UTF-8 without control characters. Throws 400 `invalid_docid`.
 */
export function asDocId(value: string): DocId {
  const bytes = Buffer.byteLength(value);
  if (bytes >= 1 && bytes <= DOCID_BYTES_MAX && !CONTROL_CHARACTERS.test(value) && isWellFormed(value))
    return value as DocId;
  throw new AppError('invalid_docid');
}

/**
 * Validates the id of a new document. `.` and `..` are invalid, because clients remove them from a path before they
 * send it, even written as `%2e`, so no request could reach the document. Throws 400 `invalid_docid`.
 */
export function asNewDocId(value: string): DocId {
  if (value === '.' || value === '..')
    throw new AppError('invalid_docid', 'The document ids . and .. cannot be addressed in a path.');
  return asDocId(value);
}

/** False if the string has a lone surrogate, which UTF-8 cannot encode. */
export function isWellFormed(value: string): boolean {
  return !/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(value);
}

/**
 * Derives a document id from the base name of a file: `My File (1).v2.txt` gives `MY_FILE_1_V2_TXT`. Undefined if
 * nothing is left.
 */
export function docIdFromFilename(filename: string): DocId | undefined {
  const id = baseNameOf(filename)
    .toUpperCase()
    .replace(/[^A-Z0-9_]+/g, '_')
    .replace(/^_+|_+$/g, '');
  return id === '' ? undefined : asDocId(id);
}

/** The last component of a path with `/` or `\`, since some clients send the whole path of a file. */
export const baseNameOf = (filename: string): string => filename.split(/[/\\]/).pop() ?? '';

export const chunkIdOf = (docid: string, chunkPath: string): string => `${docid}::${chunkPath}`;

/** Splits a chunk id at its last `::`; undefined if it has none. */
export function parseChunkId(rid: string): { docid: string; chunkPath: string } | undefined {
  const at = rid.lastIndexOf('::');
  return at < 0 ? undefined : { docid: rid.slice(0, at), chunkPath: rid.slice(at + 2) };
}
