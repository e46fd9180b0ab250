// Batch ingest: JSON, answered when all items are done, or NDJSON, answered line by line while it comes.
// Handlers on the front thread: body in, use case, reply out. The route table (routes.ts) names them.
import { mediaTypeOf } from '../../base/media-type.js';
import type { BatchItemResult } from '../../contract/api/documents.js';
import { AppError } from '../../contract/errors.js';
import type { CollectionName, Tenant } from '../../contract/ids.js';
import type { Context } from '../../service/context.js';
import { withFaultCode } from '../../service/fault-code.js';
import type { ItemOutcome } from '../../service/item-outcomes.js';
import { ingestJsonBatch } from '../../service/ingest-json-batch.js';
import { ingestLines } from '../../service/ingest-lines.js';
import type { Handler, Request } from '../route.js';
import { collectionOf } from './path.js';

const NDJSON = 'application/x-ndjson';

export const postBatch =
  (context: Context): Handler =>
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
