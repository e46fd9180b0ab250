// Documents and chunks: bodies and routes.
import typia, { type tags } from 'typia';
import type { ErrorCode } from './errors.js';
import { DOCID_BYTES_MAX } from './ids.js';
import { BATCH_ITEMS_MAX, DOCIDS_MAX } from './limits.js';
import { PAGE, PLAIN_CHARACTER, VECTOR, V_BASE64, exactlyOne } from './parameters.js';
import { type Parameter, type Schema, json, jsonRoute, otherContent, ownRoute, routes } from './route.js';

export interface DocumentSummary {
  docid: string;
  version: number;
  ingested_at: string;
  chunk_count: number;
  /** Name of the uploaded file. */
  filename?: string;
  /** The second from which on the document is gone. Absent if it stays. */
  expires_at?: string;
  /** In listings only with `metadata=true`. */
  metadata?: Record<string, unknown>;
}

export interface DocumentDetail extends DocumentSummary {
  metadata: Record<string, unknown>;
  chunk_ids: string[];
}

export interface ChunkSummary {
  rid: string;
  chunk_path: string;
  ingested_at: string;
  meta: Record<string, unknown>;
}

export interface ChunkDetail extends ChunkSummary {
  docid: string;
}

/** Times in milliseconds, of one document or of one part of a batch. */
export interface IngestTiming {
  prepare_ms?: number;
  embed_ms?: number;
  store_ms?: number;
}

/** A time, rounded up to a whole second, or `never`. */
type ExpiryTime = string | number;

/** A version of a document, and 0 for none. */
type DocumentVersion = number & tags.Type<'uint32'>;

/** A document to ingest, with exactly one of `text`, `vector` and `v_base64`. `null` counts as absent. */
export interface IngestBody {
  /** Document id. Default: the server generates one. An existing document with this id is replaced. */
  docid?: string | null;
  metadata?: Record<string, unknown> | null;
  text?: string | null;
  vector?: number[] | null;
  v_base64?: string | null;
  /** Store the document only if the stored one has this version; 0: only if there is none. */
  if_version?: DocumentVersion | null;
  /**
   * The second from which on the document is gone: an ISO 8601 time or seconds since 1970, or `never`. Default: the `ttl`
   * of the collection after the ingest; without one the document stays.
   */
  expires_at?: ExpiryTime | null;
}

export interface Ingested {
  tenant: string;
  collection: string;
  docid: string;
  chunks: number;
  /** The version of the document: 1, and one more with each replacement and each change of metadata. */
  version: number;
  /**
   * For a file without an id: the id derived from its name, if another file already has that id. `docid` is then a
   * distinct one.
   */
  docid_taken?: string;
}

/** Documents of a batch, each as in a single ingest; at least one. An item of a wrong shape fails alone. */
export interface BatchBody {
  documents: IngestBody[];
}

/** Result of one item of a batch. */
export interface BatchItemResult {
  /** Position of the item in the batch, from 0. */
  index: number;
  ok: boolean;
  docid?: string;
  chunks?: number;
  version?: number;
  code?: string;
  error?: string;
}

export interface BatchAnswer {
  tenant: string;
  collection: string;
  documents: BatchItemResult[];
  count: number;
  succeeded: number;
  failed: number;
}

/** Last line of an NDJSON batch, after one result per line. */
export interface BatchSummary {
  ok: true;
  count: number;
  succeeded: number;
  failed: number;
  latency_ms: number;
  request_id: string;
}

export interface DocumentList {
  tenant: string;
  collection: string;
  documents: DocumentSummary[];
  count: number;
  /** Cursor of the next page. Present only with `limit`, and only if there is a next page. */
  next_cursor?: string;
}

export interface ChunkList {
  tenant: string;
  collection: string;
  docid: string;
  chunks: ChunkSummary[];
  count: number;
  /** Cursor of the next page. Present only with `limit`, and only if there is a next page. */
  next_cursor?: string;
}

export interface StoredDocument extends DocumentDetail {
  tenant: string;
  collection: string;
}

export interface StoredChunk extends ChunkDetail {
  tenant: string;
  collection: string;
}

export interface DeletedDocument {
  tenant: string;
  collection: string;
  docid: string;
  chunks_deleted: number;
}

/** A change of metadata. */
interface MetadataBody {
  /**
   * Fields to set; null removes a field, and objects are merged (JSON merge patch, RFC 7396). Required unless
   * `expires_at` is given.
   */
  metadata?: Record<string, unknown>;
  /** Whether `metadata` takes the place of all metadata of the document, instead of being merged with it. */
  replace?: boolean | null;
  /** The second from which on the document is gone, as at an ingest; `never`: it stays. Default: as it is. */
  expires_at?: ExpiryTime | null;
}

/** A change of the metadata of a document. */
export interface PatchDocumentBody extends MetadataBody {
  /** Change the document only if it has this version. */
  if_version?: DocumentVersion | null;
}

export interface PatchedDocument {
  tenant: string;
  collection: string;
  docid: string;
  /** The version of the document from now on. */
  version: number;
  chunks: number;
}

/** A change of the metadata of many documents: those of a list, or those that match filters. */
export interface PatchDocumentsBody extends MetadataBody, DeleteDocumentsBody {}

/** Which documents to delete: those listed, or those whose metadata match the filters. */
export interface DeleteDocumentsBody {
  /** Ids of documents. Those that do not exist are skipped. */
  docids?: string[] | null;
  /**
   * Metadata filters, as in a search. They are compared with the metadata of the document; that of single chunks, such as
   * `page` and `row`, does not count.
   */
  filters?: Record<string, unknown> | null;
  /** Must be true with filters that have no condition, such as `{}`, because they match every document. */
  all?: boolean | null;
  /** Only count the documents. */
  dry_run?: boolean | null;
}

/** What was changed or deleted, or would be, if `dry_run` is true. */
export interface ChangedDocuments {
  tenant: string;
  collection: string;
  documents: number;
  chunks: number;
  dry_run: boolean;
}

interface DeleteDocumentQuery {
  if_version?: DocumentVersion;
}

const PLACE = { tenant: 'acme', collection: 'docs' };
const INGESTED_AT = '2026-01-05T09:30:00.000Z';
const DOCUMENT: DocumentSummary = { docid: 'nemo', version: 1, ingested_at: INGESTED_AT, chunk_count: 1 };
const CHUNK: ChunkSummary = {
  rid: 'nemo::chunk_0',
  chunk_path: 'chunk_0',
  ingested_at: INGESTED_AT,
  meta: { docid: 'nemo', ingested_at: INGESTED_AT, lang: 'en', offset: 0 },
};

const BATCH_RESULTS: BatchItemResult[] = [
  { index: 0, ok: true, docid: 'nemo', chunks: 1, version: 1 },
  { index: 1, ok: false, code: 'no_text_extracted', error: 'There is no text to index.' },
];
const BATCH_SUMMARY: BatchSummary = {
  ok: true,
  count: 2,
  succeeded: 1,
  failed: 1,
  latency_ms: 3.1,
  request_id: '0198c2f1-5d3a-7c1e-9b61-2f4a8d0c7e55',
};

const FORM: Schema = {
  type: 'object',
  required: ['file'],
  properties: {
    file: {
      type: 'string',
      format: 'binary',
      contentMediaType: 'application/octet-stream',
      description: 'The file. Its type follows from its content, extension and declared type.',
    },
    docid: {
      type: 'string',
      description:
        "Document id. Default: derived from the file's name, in upper case: `My File (1).txt` gives `MY_FILE_1_TXT`. A file of the same name replaces its document. If another file already has that id, the server generates a distinct one, and `docid_taken` has the id of the other file.",
    },
    metadata: { type: 'string', contentMediaType: 'application/json', description: 'A JSON object.' },
    if_version: { type: 'string', pattern: '^\\d{1,10}$', description: 'As in JSON.' },
    expires_at: { type: 'string', description: 'As in JSON.' },
  },
};

const INGEST_CODES: readonly ErrorCode[] = [
  'version_conflict',
  'invalid_docid',
  'invalid_metadata',
  'invalid_metadata_keys',
  'metadata_too_large',
  'no_text_extracted',
  'chunk_too_large',
  'vectors_only',
  'dim_mismatch',
  'collection_limit_reached',
  'chunk_limit_reached',
  'collection_changed',
  'embedder_unavailable',
  'storage_full',
  'ingest_failed',
];
const FILE_CODES: readonly ErrorCode[] = [
  'invalid_multipart',
  'missing_document_file',
  'invalid_metadata_json',
  'unsupported_or_invalid_document',
  'file_unreadable',
  'file_encrypted',
  'file_too_large',
  'invalid_csv_options',
];

const PATCH_CODES: readonly ErrorCode[] = [
  'collection_not_found',
  'document_not_found',
  'invalid_docid',
  'invalid_metadata',
  'invalid_metadata_keys',
  'metadata_too_large',
  'collection_changed',
  'storage_full',
];

const ITEM_REFINEMENTS = {
  IngestBody: exactlyOne('text', 'vector', 'v_base64'),
  'IngestBody.docid': { maxLength: DOCID_BYTES_MAX, pattern: `^${PLAIN_CHARACTER}*$` },
  'IngestBody.vector': VECTOR,
  'IngestBody.v_base64': V_BASE64,
};

/** Query parameters for CSV and TSV files. */
const CSV: readonly Parameter[] = [
  {
    name: 'csv_has_header',
    description: 'Whether the first row names the columns.',
    schema: { type: 'string', enum: ['auto', 'yes', 'no'], default: 'auto' },
  },
  {
    name: 'csv_meta_cols',
    description: 'Columns that become metadata: names and 1-based numbers, separated by commas.',
    schema: { type: 'string' },
  },
  {
    name: 'csv_include_cols',
    description: 'Columns that become text. Default: all columns that are not metadata.',
    schema: { type: 'string' },
  },
];

const OF_COLLECTION = '/v1/collections/{tenant}/{collection}';
const DOCUMENTS = `${OF_COLLECTION}/documents` as const;
const DOCUMENT_PLACE = `${DOCUMENTS}/{docid}` as const;
const CHUNK_PLACE = `${OF_COLLECTION}/chunks/{rid}` as const;

const tag = 'Documents';
const read = { method: 'GET', access: 'tenant', scope: 'search', tag } as const;
const write = { access: 'tenant', scope: 'ingest', tag } as const;

const WITH_METADATA: Parameter = {
  name: 'metadata',
  description: '`true` lists the metadata of each document too.',
  schema: { type: 'boolean', default: false },
};

export const DOCUMENT_ROUTES = routes({
  listDocuments: ownRoute({
    ...read,
    path: DOCUMENTS,
    summary: 'List the documents of a collection',
    description: 'Ordered by document id. The list is empty for a collection that does not exist.',
    query: [...PAGE, WITH_METADATA],
    answer: json(typia.json.schema<DocumentList>(), { answer: { ...PLACE, documents: [DOCUMENT], count: 1 } }),
  }),
  ingestDocument: ownRoute({
    ...write,
    method: 'POST',
    takesKey: true,
    path: DOCUMENTS,
    msgpack: true,
    keeps400: true,
    summary: 'Ingest a text, a vector or a file',
    description:
      'An existing document with the same id is replaced as a whole, in one step. A collection that does not exist is created with default settings. File types: txt, md, html, csv, tsv, json, jsonl, pdf, docx, pptx, xlsx, odt, epub, eml.',
    query: CSV,
    body: 'document',
    request: {
      required: true,
      content: {
        ...json(
          typia.json.schema<IngestBody>(),
          {
            text: { docid: 'nemo', text: 'Captain Nemo commands the Nautilus.', metadata: { lang: 'en' } },
            vector: { docid: 'point', vector: [0.1, 0.7, -0.2] },
            base64: { docid: 'point', v_base64: 'zczMPTMzMz/NzEy+' },
          },
          ITEM_REFINEMENTS,
        ),
        'multipart/form-data': {
          schema: FORM,
          examples: { file: { file: 'Captain Nemo commands the Nautilus.', docid: 'nemo', metadata: '{"lang":"en"}' } },
        },
      },
    },
    successes: [201],
    answer: json(typia.json.schema<Ingested>(), { answer: { ...PLACE, docid: 'nemo', chunks: 1, version: 1 } }),
    codes: [...INGEST_CODES, ...FILE_CODES, 'invalid_document_json', 'unsupported_media_type'],
  }),
  getDocument: ownRoute({
    ...read,
    path: DOCUMENT_PLACE,
    summary: 'Get the metadata, version and chunk ids of a document',
    answer: json(typia.json.schema<StoredDocument>(), {
      answer: {
        ...PLACE,
        ...DOCUMENT,
        metadata: { docid: 'nemo', ingested_at: INGESTED_AT, lang: 'en' },
        chunk_ids: [CHUNK.rid],
      },
    }),
    codes: ['document_not_found'],
  }),
  deleteDocument: jsonRoute({
    ...write,
    method: 'DELETE',
    takesKey: true,
    path: DOCUMENT_PLACE,
    summary: 'Delete a document and its chunks',
    description: 'Deleting a document that does not exist succeeds with 0 chunks, unless `if_version` is given.',
    query: [
      {
        name: 'if_version',
        description: 'Delete the document only if it has this version.',
        schema: { type: 'integer', minimum: 0 },
      },
    ],
    checkQuery: typia.createValidate<DeleteDocumentQuery>(),
    answer: {
      schema: typia.json.schema<DeletedDocument>(),
      example: { ...PLACE, docid: 'nemo', chunks_deleted: 1 },
    },
    codes: ['invalid_docid', 'version_conflict', 'storage_full'],
  }),
  patchDocument: jsonRoute({
    ...write,
    method: 'PATCH',
    takesKey: true,
    path: DOCUMENT_PLACE,
    summary: 'Change the metadata of a document',
    description:
      'Chunks, texts and vectors stay, nothing is embedded. Filters and the priority follow the new metadata at once, `ingested_at` stays, and the version increases as at an ingest.',
    body: {
      check: typia.createValidateEquals<PatchDocumentBody>(),
      schema: typia.json.schema<PatchDocumentBody>(),
      required: true,
      examples: {
        merge: { metadata: { lang: 'fr', draft: null } },
        replace: { metadata: {}, replace: true, if_version: 1 },
      },
    },
    answer: {
      schema: typia.json.schema<PatchedDocument>(),
      example: { ...PLACE, docid: 'nemo', version: 2, chunks: 1 },
    },
    codes: ['version_conflict', ...PATCH_CODES],
  }),
  patchDocuments: jsonRoute({
    ...write,
    method: 'POST',
    takesKey: true,
    path: `${OF_COLLECTION}/documents:patch`,
    isLong: true,
    summary: 'Change the metadata of many documents, by id or by metadata filter',
    description:
      'Documents are changed page by page, each page durably and at once. If a document cannot take the change, the request ends with its error, and the documents of later pages stay as they were.',
    body: {
      check: typia.createValidateEquals<PatchDocumentsBody>(),
      schema: typia.json.schema<PatchDocumentsBody>(),
      required: true,
      refinements: { 'PatchDocumentsBody.docids': { minItems: 1, maxItems: DOCIDS_MAX } },
      examples: { filter: { filters: { lang: 'en' }, metadata: { reviewed: true } } },
    },
    answer: {
      schema: typia.json.schema<ChangedDocuments>(),
      example: { ...PLACE, documents: 2, chunks: 5, dry_run: false },
    },
    codes: PATCH_CODES,
  }),
  deleteDocuments: jsonRoute({
    ...write,
    method: 'POST',
    takesKey: true,
    path: `${OF_COLLECTION}/documents:delete`,
    isLong: true,
    summary: 'Delete documents by id or by metadata filter',
    description:
      'Documents are deleted page by page, each page durably and at once; if the request fails or the client disconnects, the rest stays, and the same request continues. A document that is written meanwhile may be deleted if it matches.',
    body: {
      check: typia.createValidateEquals<DeleteDocumentsBody>(),
      schema: typia.json.schema<DeleteDocumentsBody>(),
      required: true,
      refinements: { 'DeleteDocumentsBody.docids': { minItems: 1, maxItems: DOCIDS_MAX } },
      examples: {
        filter: { filters: { lang: 'en', year: { $lt: 2000 } }, dry_run: true },
        list: { docids: ['nemo', 'ned'] },
        everything: { filters: {}, all: true },
      },
    },
    answer: {
      schema: typia.json.schema<ChangedDocuments>(),
      example: { ...PLACE, documents: 2, chunks: 5, dry_run: false },
    },
    codes: ['invalid_docid', 'collection_changed', 'storage_full'],
  }),
  listChunks: ownRoute({
    ...read,
    path: `${DOCUMENT_PLACE}/chunks`,
    summary: 'List the chunks of a document in document order',
    description: 'The list is empty for a document that does not exist.',
    query: PAGE,
    answer: json(typia.json.schema<ChunkList>(), { answer: { ...PLACE, docid: 'nemo', chunks: [CHUNK], count: 1 } }),
  }),
  getChunk: ownRoute({
    ...read,
    path: CHUNK_PLACE,
    summary: 'Get the provenance and metadata of a chunk',
    answer: json(typia.json.schema<StoredChunk>(), { answer: { ...PLACE, docid: 'nemo', ...CHUNK } }),
    codes: ['chunk_not_found'],
  }),
  getChunkContent: ownRoute({
    ...read,
    path: `${CHUNK_PLACE}/content`,
    summary: 'Get the text of a chunk',
    answer: otherContent('text/plain', 'Captain Nemo commands the Nautilus.'),
    codes: ['chunk_not_found', 'chunk_content_not_found'],
  }),
  ingestBatch: ownRoute({
    ...write,
    method: 'POST',
    takesKey: true,
    path: `${OF_COLLECTION}/documents:batch`,
    msgpack: true,
    keeps400: true,
    summary: 'Ingest many texts or vectors',
    description: `Answers 201 even if items fail. Each item has its own result, in order, with \`code\` and \`error\` if it failed. Items with the same document id are applied in order.
As \`application/x-ndjson\`, with one item per line, the number of items is unlimited. Results come back one per line while the body is still being sent, and a last line has \`count\`, \`succeeded\` and \`failed\`.
With an \`Idempotency-Key\`, items that have been stored at their place in the batch are not stored again, and have the results that they had.`,
    body: 'lines',
    request: {
      required: true,
      content: {
        ...json(
          typia.json.schema<BatchBody>(),
          { texts: { documents: [{ docid: 'nemo', text: 'Captain Nemo commands the Nautilus.' }, { text: ' ' }] } },
          { ...ITEM_REFINEMENTS, 'BatchBody.documents': { minItems: 1, maxItems: BATCH_ITEMS_MAX } },
        ),
        ...otherContent(
          'application/x-ndjson',
          '{"docid":"nemo","text":"Captain Nemo commands the Nautilus."}\n{"text":" "}\n',
        ),
      },
    },
    successes: [201],
    answer: {
      ...json(typia.json.schema<BatchAnswer>(), {
        answer: { ...PLACE, documents: BATCH_RESULTS, count: 2, succeeded: 1, failed: 1 },
      }),
      ...otherContent(
        'application/x-ndjson',
        [...BATCH_RESULTS, BATCH_SUMMARY].map((line) => `${JSON.stringify(line)}\n`).join(''),
      ),
    },
    codes: [
      'unsupported_media_type',
      'collection_limit_reached',
      'embedder_unavailable',
      'storage_full',
      'ingest_failed',
    ],
  }),
});
