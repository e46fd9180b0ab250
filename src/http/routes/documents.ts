// Ingest of single documents and batches. Runs on the main thread.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BatchItemResult, DOCUMENT_ROUTES } from '../../api/documents.js';
import { AppError, invalidField } from '../../api/errors.js';
import type { CollectionName, Tenant } from '../../api/ids.js';
import { MSGPACK_TYPE } from '../../api/msgpack.js';
import { expirySecond } from '../../api/numbers.js';
import { mediaTypeOf } from '../../base/http-headers.js';
import type { CsvOptions, PrepareRequest } from '../../extract/messages.js';
import { withErrorCode } from '../../service/use-case.js';
import { keyOf, keyedRequest } from '../../service/documents/keyed-writes.js';
import { type ItemResult, ingestBatch } from '../../service/ingest/batch.js';
import { ingestDocument } from '../../service/ingest/document.js';
import { ingestLines } from '../../service/ingest/ndjson.js';
import type { Services } from '../../service/services.js';
import { type Body, type Handler, type OwnHandlers, type Request, collectionOf } from '../route.js';
import { recordHandlers } from './records.js';

/** Bytes whose digest takes about a millisecond, after which other requests get the thread. */
const DIGESTED_AT_ONCE = 512 * 1024;

const postDocument =
  (context: Services['ingest']): Handler =>
  async (request) => {
    const [tenant, collection] = collectionOf(request);
    const csv = csvOptions(request.query);
    const body = await ingestBody(request.body, csv);
    const keyed = keyOf(request) === undefined ? undefined : keyedRequest(request, 'POST', await contentOf(body));
    const startedAtMs = performance.now();
    const { docid, chunks, version, docid_taken, timing } = await withErrorCode('ingest_failed', () =>
      ingestDocument(context, tenant, collection, body, request, keyed),
    );
    return {
      status: 201,
      json: { tenant, collection, docid, chunks, version, docid_taken },
      ...(timing && { phases: { startedAtMs, timing } }),
    };
  };

/** What tells one ingest from another: all of it, with a digest in place of its bytes. */
async function contentOf(body: PrepareRequest['body']): Promise<unknown> {
  const digest = createHash('sha256');
  if ('path' in body) for await (const piece of createReadStream(body.path)) digest.update(piece as Buffer);
  else
    for (let at = 0; at < body.bytes.length; at += DIGESTED_AT_ONCE) {
      digest.update(body.bytes.subarray(at, at + DIGESTED_AT_ONCE));
      if (body.bytes.length > DIGESTED_AT_ONCE) await nextTurn();
    }
  return { ...body, bytes: digest.digest('hex'), path: '' };
}

async function ingestBody(body: Body, csv: CsvOptions): Promise<PrepareRequest['body']> {
  const type = mediaTypeOf(body.contentType);
  if (type === 'application/json') return { kind: 'json', bytes: await body.bytes() };
  if (type === MSGPACK_TYPE) return { kind: 'msgpack', bytes: await body.bytes() };
  if (type !== 'multipart/form-data')
    throw new AppError(
      'unsupported_media_type',
      `Ingest accepts application/json, ${MSGPACK_TYPE} or multipart/form-data.`,
    );
  const { fields, file } = await body.form();
  if (!file) throw new AppError('missing_document_file');
  const given = (name: string): string => fields.get(name) ?? '';
  const ifVersion = given('if_version');
  if (ifVersion !== '' && !(/^\d{1,10}$/.test(ifVersion) && Number(ifVersion) < 2 ** 32))
    throw invalidField(['body', 'if_version'], 'Should be a version of the document, or 0 for none.', 'int_type');
  return {
    kind: 'file',
    ...file,
    csv,
    docid: given('docid'),
    metadata: given('metadata'),
    ...(ifVersion !== '' && { ifVersion: Number(ifVersion) }),
    ...(given('expires_at') !== '' && { expiresAtS: expirySecond(numberOr(given('expires_at'))) }),
  };
}

/** Fields of a form are text, also those that are numbers in JSON. */
const numberOr = (text: string): string | number => (/^\d{1,16}(\.\d+)?$/.test(text) ? Number(text) : text);

/** The worker validates the lists of columns, because it reads the file. */
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

const NDJSON = 'application/x-ndjson';

/** JSON is answered when all items are finished, NDJSON line by line while the body arrives. */
const postBatch =
  (context: Services['ingest']): Handler =>
  async (request) => {
    const [tenant, collection] = collectionOf(request);
    const key = keyOf(request);
    const type = mediaTypeOf(request.body.contentType);
    if (type === NDJSON) {
      const items = await ingestLines(context, tenant, collection, request.body.stream(), request.signal, key);
      return { status: 201, contentType: NDJSON, stream: resultLines(request, items) };
    }
    const isMsgpack = type === MSGPACK_TYPE;
    if (!isMsgpack && type !== 'application/json')
      throw new AppError('unsupported_media_type', `A batch should be application/json, ${MSGPACK_TYPE} or ${NDJSON}.`);
    const bytes = await request.body.bytes();
    const slices = await withErrorCode('ingest_failed', () =>
      ingestBatch(context, tenant, collection, { bytes, isMsgpack }, request.signal, key),
    );
    return { status: 201, jsonParts: answerParts(tenant, collection, slices) };
  };

/** Counts the items so far. */
class Tally {
  count = 0;
  succeeded = 0;

  get failed(): number {
    return this.count - this.succeeded;
  }

  /** Results of the next items as JSON text. */
  results(items: readonly ItemResult[]): string[] {
    return items.map((item) => {
      const result: BatchItemResult = { index: this.count++, ...item };
      if (item.ok) this.succeeded++;
      return JSON.stringify(result);
    });
  }
}

function answerParts(tenant: Tenant, collection: CollectionName, slices: readonly ItemResult[][]): string[] {
  const tally = new Tally();
  const results = slices.map((items) => tally.results(items).join(','));
  const head = JSON.stringify({ tenant, collection }).slice(0, -1);
  return [
    `${head},"documents":[`,
    results.join(','),
    `],"count":${tally.count},"succeeded":${tally.succeeded},"failed":${tally.failed}`,
  ];
}

async function* resultLines({ id, startedAtMs }: Request, slices: AsyncIterable<ItemResult[]>): AsyncGenerator<string> {
  const tally = new Tally();
  for await (const items of slices) yield `${tally.results(items).join('\n')}\n`;
  const latency_ms = Math.round((performance.now() - startedAtMs) * 1000) / 1000;
  const { count, succeeded, failed } = tally;
  yield `${JSON.stringify({ ok: true, count, succeeded, failed, latency_ms, request_id: id })}\n`;
}

export const documentHandlers = ({
  documents,
  ingest,
}: Pick<Services, 'documents' | 'ingest'>): OwnHandlers<typeof DOCUMENT_ROUTES> => ({
  ...recordHandlers(documents),
  ingestDocument: postDocument(ingest),
  ingestBatch: postBatch(ingest),
});
