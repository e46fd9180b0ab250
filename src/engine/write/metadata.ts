// Changes of a document's metadata and expiry: what a merge patch, new metadata or a new time make of a stored record.
// Pure functions.
import { AppError } from '../../api/errors.js';
import { METADATA_LEVELS_MAX } from '../../api/limits.js';
import { isDeeperThan } from '../../base/json.js';
import { priorityOf } from '../../ranking/scores.js';
import type { DocumentRecord } from '../../storage/records.js';
import type { MetadataChange } from './commands.js';

type Json = Record<string, unknown>;

/** Fields that the server sets, and that a change cannot set to other values. */
const RESERVED = ['docid', 'ingested_at'] as const;

/**
 * The record with changed metadata, in the same version. `chunkMetaJson` is the metadata of each chunk: a field that a
 * chunk has hides the field of its document, so a change cannot introduce such a field. Throws AppError
 * `metadata_too_large`, `invalid_metadata` for too many levels, and `invalid_metadata_keys`.
 */
export function changedRecord(
  record: DocumentRecord,
  { patchJson, replaces, priorityKey, bytesMax, expiresAtS = record.expiresAtS }: MetadataChange,
  chunkMetaJson: readonly string[],
): DocumentRecord {
  if (patchJson === undefined) return { ...record, expiresAtS };
  const stored = JSON.parse(record.metadataJson) as Json;
  const patch = JSON.parse(patchJson) as Json;
  const { docid, ingested_at: ingestedAt, filename } = stored;
  const reserved = RESERVED.filter((key) => Object.hasOwn(patch, key) && patch[key] !== stored[key]);
  if (reserved.length > 0) throw keysInvalid('These metadata keys are reserved for the server', reserved);
  const ours = { docid, ...(filename !== undefined && { filename }), ingested_at: ingestedAt };
  const metadata = replaces ? { ...ours, ...patch } : (merged(stored, patch) as Json);
  checkLimits(metadata, bytesMax);
  const added = Object.keys(metadata).filter((key) => !Object.hasOwn(stored, key));
  const hidden = added.filter((key) => chunkMetaJson.some((json) => Object.hasOwn(JSON.parse(json) as Json, key)));
  if (hidden.length > 0)
    throw keysInvalid('The chunks of the document have these fields themselves; ingest it again to set them', hidden);
  const priority = priorityOf(metadata, priorityKey);
  return { ...record, metadataJson: JSON.stringify(metadata), priority, expiresAtS };
}

/** JSON merge patch (RFC 7396): null removes a field, objects are merged, everything else is replaced. */
function merged(value: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result: Json = isObject(value) ? { ...value } : {};
  for (const [key, change] of Object.entries(patch)) {
    if (change === null) delete result[key];
    else define(result, key, merged(Object.hasOwn(result, key) ? result[key] : undefined, change));
  }
  return result;
}

/** An assignment of `__proto__` would set no field. */
const define = (object: Json, key: string, value: unknown): void =>
  void Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function checkLimits(metadata: Json, bytesMax: number): void {
  if (isDeeperThan(METADATA_LEVELS_MAX, metadata))
    throw new AppError('invalid_metadata', `Metadata must have at most ${METADATA_LEVELS_MAX} levels.`);
  const { docid: _, ingested_at: _time, filename: _name, ...own } = metadata;
  if (Buffer.byteLength(JSON.stringify(own)) > bytesMax)
    throw new AppError('metadata_too_large', `Metadata must have at most ${bytesMax} bytes of JSON.`);
}

const keysInvalid = (why: string, keys: readonly string[]): AppError =>
  new AppError('invalid_metadata_keys', `${why}: ${keys.join(', ')}.`, { details: { keys } });
