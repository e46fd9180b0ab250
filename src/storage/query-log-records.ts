// Encoding of the records and keys of logged searches. The thread that searches for a client encodes, the log worker
// decodes; docs/internals/lmdb.md describes the layout. Pure functions.
import typia from 'typia';
import type { CollectionId } from '../api/ids.js';
import type { LoggedQuery, LoggedRest } from './query-log-commands.js';
import { isDeeperThan } from '../base/json.js';
import { TIME_MAX_MS } from '../api/limits.js';
import type { SearchMode } from '../api/choices.js';
import { DamagedRecord } from './damage.js';
import { decode, decodeVector, encode, encodeVector } from './records.js';

export const QUERY_ID_BYTES = 16;
const TYPES = [
  'string',
  'number',
  'number',
  'number',
  'string',
  'string',
  'string',
  'string',
  'array',
  'string',
  'object',
] as const;
const NO_VECTOR = Buffer.alloc(0);
/** Limit of nesting. Filters have at most eight levels, each a list in an object. */
const REST_LEVELS_MAX = 32;
const isRest = typia.createIs<LoggedRest>();
const prune = typia.misc.createPrune<LoggedRest>();
const areIds = typia.createIs<string[]>();
const isMode = typia.createIs<SearchMode>();

export function encodeQuery(query: LoggedQuery): Buffer {
  const { text, k, executedAtMs, latencyMs, replayOf, requestId, actor, mode, resultIds, rest, vector } = query;
  const vectorBytes = vector ? encodeVector(vector) : NO_VECTOR;
  return encode([
    text,
    k,
    executedAtMs,
    latencyMs,
    replayOf,
    requestId,
    actor,
    mode,
    resultIds,
    JSON.stringify(rest),
    vectorBytes,
  ]);
}

/** Decodes a record. Throws DamagedRecord. */
export function decodeQuery(bytes: Buffer): LoggedQuery {
  const fields = decode(bytes, TYPES, 'query') as [
    string,
    number,
    number,
    number,
    string,
    string,
    string,
    string,
    unknown[],
    string,
    unknown,
  ];
  const [text, k, executedAtMs, latencyMs, replayOf, requestId, actor, mode, resultIds, restJson, vector] = fields;
  const isSound =
    areIds(resultIds) && isMode(mode) && vector instanceof Uint8Array && isWhole(k) && isTime(executedAtMs);
  if (!isSound || !Number.isFinite(latencyMs)) throw new DamagedRecord('query: wrong shape');
  const found = {
    text,
    k,
    executedAtMs,
    latencyMs,
    replayOf,
    requestId,
    actor,
    mode,
    resultIds,
    rest: decodeRest(restJson),
  };
  return vector.length === 0 ? found : { ...found, vector: decodeVector(Buffer.from(vector)) };
}

const isWhole = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;
/** Whether the value can be shown as an ISO 8601 time. */
const isTime = (ms: number): boolean => ms >= 0 && ms <= TIME_MAX_MS;

/** Decodes the parameters and drops unknown fields. */
function decodeRest(json: string): LoggedRest {
  let rest: unknown;
  try {
    rest = JSON.parse(json);
  } catch {
    rest = undefined;
  }
  // More deeply nested values cannot be passed to another thread.
  if (!isRest(rest) || isDeeperThan(REST_LEVELS_MAX, rest)) throw new DamagedRecord('query: malformed parameters');
  prune(rest);
  return rest;
}

/** The 16 bytes of a UUID in lower case with dashes. The order of UUIDv7 is the order of their times. */
export const queryIdBytes = (id: string): Buffer => Buffer.from(id.replaceAll('-', ''), 'hex');

export function queryIdOf(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

export function queryKey(collection: CollectionId, id: Uint8Array): Buffer {
  const key = Buffer.allocUnsafe(4 + id.length);
  key.writeUInt32BE(collection, 0);
  key.set(id, 4);
  return key;
}
export const idOfQueryKey = (key: Buffer): Buffer => key.subarray(4);
/** The time in a key's UUIDv7, in milliseconds since 1970. */
export const timeOfQueryKey = (key: Buffer): number => key.readUIntBE(4, 6);
