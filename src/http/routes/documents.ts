// Documents and chunks: ingest, list, get, delete, content.
// Handlers on the front thread: body in, use case, reply out. The route table (routes.ts) names them.
import type { BatchItemResult, BatchSummary } from '../../api/documents.js';
import { AppError, type ErrorCode, invalidField } from '../../api/errors.js';
import type { CollectionName, Tenant } from '../../api/ids.js';
import { mediaTypeOf } from '../../base/http-headers.js';
import type { CsvOptions, PrepareRequest } from '../../extract/messages.js';
import { deleteDocument, getChunk, getChunkContent, getDocument } from '../../service/documents/documents.js';
import { type Page, type Span, listChunks, listDocuments } from '../../service/documents/listings.js';
import { withFaultCode } from '../../service/fault-code.js';
import { type ItemOutcome, ingestJsonBatch } from '../../service/ingest/batch.js';
import { ingestDocument } from '../../service/ingest/document.js';
import { ingestLines } from '../../service/ingest/ndjson.js';
import type { Services } from '../../service/services.js';
import { listingReply } from '../listing.js';
import { CSV, type Operation, PAGE, jsonAnswer, jsonRequest, otherContent } from '../openapi/operation.js';
import type { Schema } from '../../api/route.js';
import {
  type Body,
  type Handler,
  READ,
  READ_ONE,
  type Reply,
  type Request,
  type ListedRoute,
  collectionOf,
  get,
  param,
  post,
  remove,
} from '../route.js';

const postDocument =
  (context: Services['ingest']): Handler =>
  async (request) => {
    const [tenant, collection] = collectionOf(request);
    const csv = csvOptions(request.query);
    const body = await ingestBody(request.body, csv);
    const startedAtMs = performance.now();
    const { docid, chunks, docid_taken, timing } = await withFaultCode('ingest_failed', () =>
      ingestDocument(context, tenant, collection, body, request),
    );
    return { status: 201, json: { tenant, collection, docid, chunks, docid_taken }, phases: { startedAtMs, timing } };
  };

async function ingestBody(body: Body, csv: CsvOptions): Promise<PrepareRequest['body']> {
  const type = mediaTypeOf(body.contentType);
  if (type === 'application/json') return { kind: 'json', bytes: await body.bytes() };
  if (type !== 'multipart/form-data')
    throw new AppError('unsupported_media_type', 'Ingest takes application/json or multipart/form-data.');
  const { fields, file } = await body.form();
  if (!file) throw new AppError('missing_document_file');
  return { kind: 'file', ...file, csv, docid: fields.get('docid') ?? '', metadata: fields.get('metadata') ?? '' };
}

/** What the lists name is known once the file is read; the worker checks them. */
function csvOptions(query: URLSearchParams): CsvOptions {
  const header = query.get('csv_has_header') || 'auto';
  if (header !== 'auto' && header !== 'yes' && header !== 'no')
    throw invalidField(
      ['query', 'csv_has_header'],
      'Should be auto, yes or no.',
      'literal_error',
      header.slice(0, 200),
    );
  return { header, metaColumns: query.get('csv_meta_cols') ?? '', includeColumns: query.get('csv_include_cols') ?? '' };
}

const getDocuments =
  (context: Services['documents']): Handler =>
  async (request) => {
    const [tenant, collection] = collectionOf(request);
    const pages = (span: Span): AsyncGenerator<Page> => listDocuments(context, tenant, collection, span);
    return listingReply(request.query, { head: { tenant, collection }, field: 'documents', pages });
  };

const getOneDocument =
  (context: Services['documents']): Handler =>
  async (request) => {
    const [tenant, collection] = collectionOf(request);
    const document = await getDocument(context, tenant, collection, param(request, 'docid'));
    return recordReply({ tenant, collection }, document);
  };

/** `record`: a JSON text, which is not parsed again. */
const recordReply = (head: object, record: string): Reply => ({
  status: 200,
  jsonParts: [`${JSON.stringify(head).slice(0, -1)},${record.slice(1, -1)}`],
});

const removeDocument =
  (context: Services['documents']): Handler =>
  async (request) => {
    const [tenant, collection] = collectionOf(request);
    const docid = param(request, 'docid');
    const chunks = await deleteDocument(context, tenant, collection, docid);
    return { status: 200, json: { tenant, collection, docid, chunks_deleted: chunks } };
  };

const getDocumentChunks =
  (context: Services['documents']): Handler =>
  async (request) => {
    const [tenant, collection] = collectionOf(request);
    const docid = param(request, 'docid');
    const pages = (span: Span): AsyncGenerator<Page> => listChunks(context, tenant, collection, docid, span);
    return listingReply(request.query, {
      head: { tenant, collection, docid },
      field: 'chunks',
      pages,
      placeForm: /^\d{1,9}$/,
    });
  };

const getOneChunk =
  (context: Services['documents']): Handler =>
  async (request) => {
    const [tenant, collection] = collectionOf(request);
    const chunk = await getChunk(context, tenant, collection, param(request, 'rid'));
    return recordReply({ tenant, collection }, chunk);
  };

const getContent =
  (context: Services['documents']): Handler =>
  async (request) => {
    const [tenant, collection] = collectionOf(request);
    const text = await getChunkContent(context, tenant, collection, param(request, 'rid'));
    return { status: 200, bytes: Buffer.from(text), contentType: 'text/plain; charset=utf-8' };
  };

// The lines of the route table for documents and chunks.
// Called by ../routes.ts.

const DOCUMENTS = '/v1/collections/{tenant}/{collection}/documents';
const CHUNKS = '/v1/collections/{tenant}/{collection}/chunks';

export function documentRoutes({ documents, ingest }: Pick<Services, 'documents' | 'ingest'>): ListedRoute[] {
  return [
    get('listDocuments', DOCUMENTS, READ, getDocuments(documents)),
    {
      ...post('ingestDocument', DOCUMENTS, [201, 400, 401, 403, 413, 422, 429, 500, 503], postDocument(ingest)),
      body: 'document',
      scope: 'ingest',
    },
    get('getDocument', `${DOCUMENTS}/{docid}`, READ_ONE, getOneDocument(documents)),
    { ...remove('deleteDocument', `${DOCUMENTS}/{docid}`, READ, removeDocument(documents)), scope: 'ingest' },
    get('listChunks', `${DOCUMENTS}/{docid}/chunks`, READ, getDocumentChunks(documents)),
    get('getChunk', `${CHUNKS}/{rid}`, READ_ONE, getOneChunk(documents)),
    get('getChunkContent', `${CHUNKS}/{rid}/content`, READ_ONE, getContent(documents)),
  ];
}

// Entries of the document and chunk operations.
// Read by ../operations.ts. Constants.

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

// Batch ingest: JSON, answered when all items are done, or NDJSON, answered line by line while it comes.
// Handlers on the front thread: body in, use case, reply out. The route table (routes.ts) names them.

const NDJSON = 'application/x-ndjson';

const postBatch =
  (context: Services['ingest']): Handler =>
  async (request) => {
    const [tenant, collection] = collectionOf(request);
    const type = mediaTypeOf(request.body.contentType);
    if (type === NDJSON) {
      const outcomes = ingestLines(context, tenant, collection, request.body.stream(), request.signal);
      return { status: 201, contentType: NDJSON, stream: resultLines(request, outcomes) };
    }
    if (type !== 'application/json')
      throw new AppError('unsupported_media_type', `A batch is application/json or ${NDJSON}.`);
    const bytes = await request.body.bytes();
    const slices = await withFaultCode('ingest_failed', () =>
      ingestJsonBatch(context, tenant, collection, bytes, request.signal),
    );
    return { status: 201, jsonParts: answerParts(tenant, collection, slices) };
  };

/** What has been counted of the items so far. */
class Tally {
  count = 0;
  succeeded = 0;

  get failed(): number {
    return this.count - this.succeeded;
  }

  /** The results of the next items, as JSON texts. */
  results(outcomes: readonly ItemOutcome[]): string[] {
    return outcomes.map((outcome) => {
      const result: BatchItemResult = { index: this.count++, ...outcome };
      if (outcome.ok) this.succeeded++;
      return JSON.stringify(result);
    });
  }
}

function answerParts(tenant: Tenant, collection: CollectionName, slices: readonly ItemOutcome[][]): string[] {
  const tally = new Tally();
  const results = slices.map((outcomes) => tally.results(outcomes).join(','));
  const head = JSON.stringify({ tenant, collection }).slice(0, -1);
  return [
    `${head},"documents":[`,
    results.join(','),
    `],"count":${tally.count},"succeeded":${tally.succeeded},"failed":${tally.failed}`,
  ];
}

async function* resultLines(
  { id, startedAtMs }: Request,
  slices: AsyncIterable<ItemOutcome[]>,
): AsyncGenerator<string> {
  const tally = new Tally();
  for await (const outcomes of slices) yield `${tally.results(outcomes).join('\n')}\n`;
  const latency_ms = Math.round((performance.now() - startedAtMs) * 1000) / 1000;
  const { count, succeeded, failed } = tally;
  yield `${JSON.stringify({ ok: true, count, succeeded, failed, latency_ms, request_id: id })}\n`;
}

// Batch ingest: many documents in one request.
// A part of the route table (routes.ts).

const BATCH = '/v1/collections/{tenant}/{collection}/documents:batch';

export function batchRoutes(context: Services['ingest']): ListedRoute[] {
  return [
    {
      ...post('ingestBatch', BATCH, [201, 400, 401, 403, 413, 422, 429, 500, 503], postBatch(context)),
      body: 'lines',
      scope: 'ingest',
    },
  ];
}
