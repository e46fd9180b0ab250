// Entries of the document and chunk operations.
// Read by ../operations.ts. Constants.
import type { BatchItemResult, BatchSummary } from '../../../contract/api/documents.js';
import type { ErrorCode } from '../../../contract/errors.js';
import type { Schema } from '../schema.js';
import { jsonAnswer, jsonRequest, otherContent, type Operation } from '../operation.js';
import { CSV, PAGE } from '../parameters.js';

const PLACE = { tenant: 'acme', collection: 'docs' };
const INGESTED_AT = '2026-01-05T09:30:00.000Z';
const DOCUMENT = { docid: 'nemo', version: 1, ingested_at: INGESTED_AT, chunk_count: 1 };
const CHUNK = {
  rid: 'nemo::chunk_0',
  chunk_path: 'chunk_0',
  ingested_at: INGESTED_AT,
  meta: { docid: 'nemo', ingested_at: INGESTED_AT, lang: 'en', offset: 0 },
};

const BATCH_RESULTS: BatchItemResult[] = [
  { index: 0, ok: true, docid: 'nemo', chunks: 1 },
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
      description: 'Its extension, declared type and content tell what it is.',
    },
    docid: {
      type: 'string',
      description:
        "Omitted: made of the file's name, in upper case: `My File (1).txt` gives `MY_FILE_1_TXT`. A file of the same name replaces its document; where another file has that id already, a distinct one is made, and `docid_taken` names the other.",
    },
    metadata: { type: 'string', contentMediaType: 'application/json', description: 'A JSON object.' },
  },
};

const INGEST_CODES: readonly ErrorCode[] = [
  ...([
    'invalid_docid',
    'invalid_metadata',
    'invalid_metadata_keys',
    'metadata_too_large',
    'no_text_extracted',
    'chunk_too_large',
    'vectors_only',
    'dim_mismatch',
  ] as const),
  ...([
    'collection_limit_reached',
    'chunk_limit_reached',
    'collection_changed',
    'embedder_unavailable',
    'storage_full',
    'ingest_failed',
  ] as const),
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

export const DOCUMENT_OPERATIONS = {
  listDocuments: {
    tag: 'Documents',
    summary: 'The documents of a collection',
    description: 'By document id. A collection that does not exist has none.',
    query: PAGE,
    answer: jsonAnswer('DocumentList', { ...PLACE, documents: [DOCUMENT], count: 1 }),
  },
  ingestDocument: {
    tag: 'Documents',
    summary: 'Ingest a text, a vector or a file',
    description:
      'A known document id replaces its document, at once and whole. A collection that does not exist is made, with the defaults. Files: txt, md, html, csv, tsv, json, jsonl, pdf, docx, pptx, xlsx, odt, epub, eml.',
    query: CSV,
    request: {
      required: true,
      content: {
        ...jsonRequest('IngestBody', {
          text: { docid: 'nemo', text: 'Captain Nemo commands the Nautilus.', metadata: { lang: 'en' } },
          vector: { docid: 'point', vector: [0.1, 0.7, -0.2] },
        }),
        'multipart/form-data': {
          schema: FORM,
          examples: { file: { file: 'Captain Nemo commands the Nautilus.', docid: 'nemo', metadata: '{"lang":"en"}' } },
        },
      },
    },
    answer: jsonAnswer('Ingested', { ...PLACE, docid: 'nemo', chunks: 1 }),
    codes: [...INGEST_CODES, ...FILE_CODES, 'invalid_document_json', 'unsupported_media_type'],
  },
  ingestBatch: {
    tag: 'Documents',
    summary: 'Ingest many texts or vectors',
    description: `201 even where items fail: each has a result of its own, in order, with \`code\` and \`error\` where it failed. Items with one document id are applied in order.
As \`application/x-ndjson\`, an item a line, there is no bound on their number: the results come back a line each while the body is still being sent, and a last line has \`count\`, \`succeeded\` and \`failed\`.`,
    request: {
      required: true,
      content: {
        ...jsonRequest('BatchBody', {
          texts: { documents: [{ docid: 'nemo', text: 'Captain Nemo commands the Nautilus.' }, { text: ' ' }] },
        }),
        ...otherContent(
          'application/x-ndjson',
          '{"docid":"nemo","text":"Captain Nemo commands the Nautilus."}\n{"text":" "}\n',
        ),
      },
    },
    answer: {
      ...jsonAnswer('BatchAnswer', { ...PLACE, documents: BATCH_RESULTS, count: 2, succeeded: 1, failed: 1 }),
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
  },
  getDocument: {
    tag: 'Documents',
    summary: 'Metadata, version and chunk ids of a document',
    answer: jsonAnswer('StoredDocument', {
      ...PLACE,
      ...DOCUMENT,
      metadata: { docid: 'nemo', ingested_at: INGESTED_AT, lang: 'en' },
      chunk_ids: [CHUNK.rid],
    }),
    codes: ['document_not_found'],
  },
  deleteDocument: {
    tag: 'Documents',
    summary: 'Delete a document and its chunks',
    description: 'One that does not exist had 0 chunks.',
    answer: jsonAnswer('DeletedDocument', { ...PLACE, docid: 'nemo', chunks_deleted: 1 }),
    codes: ['invalid_docid', 'storage_full'],
  },
  listChunks: {
    tag: 'Documents',
    summary: 'The chunks of a document, in its order',
    description: 'A document that does not exist has none.',
    query: PAGE,
    answer: jsonAnswer('ChunkList', { ...PLACE, docid: 'nemo', chunks: [CHUNK], count: 1 }),
  },
  getChunk: {
    tag: 'Documents',
    summary: 'Provenance and metadata of a chunk',
    answer: jsonAnswer('StoredChunk', { ...PLACE, docid: 'nemo', ...CHUNK }),
    codes: ['chunk_not_found'],
  },
  getChunkContent: {
    tag: 'Documents',
    summary: 'The text of a chunk',
    answer: otherContent('text/plain', 'Captain Nemo commands the Nautilus.'),
    codes: ['chunk_not_found', 'chunk_content_not_found'],
  },
} satisfies Record<string, Operation>;
