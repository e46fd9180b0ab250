// The metadata stored with a document: docid, filename (files) and ingested_at, then the caller's keys as they were
// given. Called by prepare.ts in the batch worker.
import { isDeeperThan } from '../../src/base/levels.js';
import { AppError } from '../../src/contract/errors.js';
import type { DocId } from '../../src/contract/ids.js';
import { METADATA_LEVELS_MAX } from '../../src/contract/limits.js';
import type { IngestDocument } from './ingest-document.js';

/**
 * Throws AppError `invalid_metadata` for too many levels, `invalid_metadata_keys` where the caller contradicts us,
 * `metadata_too_large` over the bound.
 */
export function documentMetadata(
  input: IngestDocument,
  docid: DocId,
  nowMs: number,
  bytesMax: number,
): Record<string, unknown> {
  const { metadata, filename } = input;
  if (isDeeperThan(METADATA_LEVELS_MAX, metadata))
    throw new AppError('invalid_metadata', `Metadata has at most ${METADATA_LEVELS_MAX} levels.`);
  if (Buffer.byteLength(JSON.stringify(metadata)) > bytesMax) {
    throw new AppError('metadata_too_large', `Metadata has at most ${bytesMax} bytes of JSON.`);
  }
  const ours: Record<string, unknown> = {
    docid,
    ...(filename === undefined ? {} : { filename }),
    ingested_at: new Date(nowMs).toISOString(),
  };
  const contradicted = (['docid', 'ingested_at'] as const).filter(
    (key) => Object.hasOwn(metadata, key) && metadata[key] !== ours[key],
  );
  if (contradicted.length > 0) {
    throw new AppError('invalid_metadata_keys', `These metadata keys are the server's: ${contradicted.join(', ')}.`, {
      details: { keys: contradicted },
    });
  }
  return { ...ours, ...metadata };
}
