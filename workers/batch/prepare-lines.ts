// A slice of a batch, from lines of JSON to documents cut into chunks and grouped by shard. What is wrong with one item
// is the result of that item and harms no other. Batch worker only; called by worker.ts.
import { faultOf } from '../../src/base/faults.js';
import type { PreparedItem, PreparedLines, PrepareLinesRequest } from '../../src/contract/batch-messages.js';
import { AppError, type ErrorCode } from '../../src/contract/errors.js';
import { asDocId, type DocId } from '../../src/contract/ids.js';
import type { PrepareAnswer } from '../../src/contract/prepare-messages.js';
import { shardOf } from '../../src/contract/placement.js';
import { textsOfLines } from '../../src/text/lines.js';
import { GroupBuilder } from './group-builder.js';
import { checkIngestShape } from './ingest-shape.js';
import { readIngestBody } from './json-document.js';
import { prepareInput } from './prepare.js';

/** What a document of its own is refused with, in the words of an item. */
const ITEM_CODES: Partial<Record<ErrorCode, ErrorCode>> = {
  invalid_json: 'invalid_item',
  invalid_document_json: 'invalid_item',
  invalid_metadata: 'invalid_item',
  validation_error: 'invalid_item',
};

/** Throws AppError `invalid_json` for a line that is no JSON, where that refuses the whole batch. */
export function prepareLines(request: PrepareLinesRequest): PreparedLines {
  const groups = new GroupBuilder(request.space.dim);
  const faults: string[] = [];
  const items = textsOfLines(request.bytes).map((line, place): PreparedItem => {
    const prepared = prepareItem(line, request, faults);
    if ('error' in prepared) return prepared;
    groups.add(shardOf(prepared.docid, request.shards), place, prepared);
    return { docid: prepared.docid, chunks: prepared.chunks };
  });
  return { items, groups: groups.finish(), faults };
}

/** A fault of ours is told in `faults`, and fails this item alone. */
function prepareItem(
  line: string | undefined,
  request: PrepareLinesRequest,
  faults: string[],
): PrepareAnswer | Extract<PreparedItem, { error: unknown }> {
  let value: unknown;
  try {
    if (line !== undefined) checkIngestShape(line, request.metadataBytesMax);
    value = parsed(line);
    if (line === undefined || value === undefined)
      throw new AppError('invalid_json', 'The item is not well-formed JSON in UTF-8.');
    return prepareInput(readIngestBody(value, line), request);
  } catch (error) {
    const refusal = error instanceof AppError ? error : new AppError('ingest_failed');
    if (refusal.code === 'invalid_json' && request.malformed === 'batch') throw new AppError('invalid_json');
    if (refusal !== error) faults.push(faultOf(error));
    return { ...docidIn(value), error: { code: ITEM_CODES[refusal.code] ?? refusal.code, message: refusal.message } };
  }
}

/** JSON has no undefined: it stands for what is no JSON. */
function parsed(line: string | undefined): unknown {
  try {
    return line === undefined ? undefined : JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** The id that a refused item gave itself, where it is one. */
function docidIn(value: unknown): { docid?: DocId } {
  const docid = (value as { docid?: unknown } | null | undefined)?.docid;
  try {
    return typeof docid === 'string' ? { docid: asDocId(docid) } : {};
  } catch {
    return {};
  }
}
