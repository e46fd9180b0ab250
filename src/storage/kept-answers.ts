// Answers of writes that came with an `Idempotency-Key`: the row of an answer is committed in the transaction of its
// write, so a retry finds it, whatever happened in between. A row says what the request was (a fingerprint) and what it
// was answered. Rows are found by collection, key and item, and forgotten in the order of their times: those that are
// too old, and the oldest of a collection that has too many of them. Collections are named by their log id, which stays
// when another vector space takes over. The owner writes and reads. Reads no clock.
import { createHash } from 'node:crypto';
import { AppError } from '../api/errors.js';
import type { CollectionId } from '../api/ids.js';
import { KEPT_ANSWERS_MAX } from '../api/limits.js';
import { collectionOfKey, collectionPrefix, u32 } from './keys.js';
import { decode, encode } from './records.js';
import { ALL, type Table, take } from './table.js';

/** The item of a request that is not a batch. Those of a batch have numbers from 1 on. */
export const WHOLE_REQUEST = 0;

/** 128 bits of SHA-256 of a key or of a request, as hexadecimal digits. */
export const fingerprintOf = (content: string | Uint8Array): string =>
  createHash('sha256').update(content).digest('hex').slice(0, 32);

/** What a write says for its answer to be kept. */
export interface AnswerToKeep {
  /** The log id of the collection. */
  log: CollectionId;
  /** A digest of the key, as 32 hexadecimal digits. */
  key: string;
  item: number;
  /** A digest of the request. */
  fingerprint: string;
  /** The second of the request. */
  nowS: number;
  /** Answers from before this second may be forgotten. */
  sinceS: number;
  /** Fields of the answer beside those that the owner answers. */
  more?: Record<string, unknown>;
}

export interface KeptAnswer {
  item: number;
  fingerprint: string;
  /** The second in which it was kept. */
  keptS: number;
  /** The answer of the owner as JSON, with the fields `more`. */
  json: string;
}

/** The tables of one collection's rows have these numbers behind its id. */
const COUNT = 0;
const BY_TIME = 1;
const BY_KEY = 2;
const KEY_BYTES = 16;
/** Answers that a write deletes because of their age, so that the rows of busy collections do not pile up. */
const FORGOTTEN_AT_ONCE = 2;

const prefixOf = (log: CollectionId, kind: number, ...rest: readonly Buffer[]): Buffer =>
  Buffer.concat([collectionPrefix(log), Buffer.from([kind]), ...rest]);

type Place = Pick<AnswerToKeep, 'log' | 'key' | 'item'>;

const keyOf = ({ log, key, item }: Place): Buffer => prefixOf(log, BY_KEY, Buffer.from(key, 'hex'), u32(item));
const timeKeyOf = ({ log, key, item }: Place, keptS: number): Buffer =>
  prefixOf(log, BY_TIME, u32(keptS), Buffer.from(key, 'hex'), u32(item));

const TIME_AT = 5;
const secondIn = (timeKey: Buffer): number => timeKey.readUInt32BE(TIME_AT);
/** The row by key that belongs to a row by time. */
const rowOf = (timeKey: Buffer): Buffer => prefixOf(collectionOfKey(timeKey), BY_KEY, timeKey.subarray(TIME_AT + 4));

function decoded(key: Buffer, value: Buffer): KeptAnswer {
  const [fingerprint, keptS, json] = decode(value, ['string', 'number', 'string'], 'a kept answer') as [
    string,
    number,
    string,
  ];
  return { item: key.readUInt32BE(TIME_AT + KEY_BYTES), fingerprint, keptS, json };
}

/** Up to `max` answers to the items of a request from `from` on. */
export function keptAnswers(
  table: Table,
  { log, key, from, max }: Omit<Place, 'item'> & { from: number; max: number },
): KeptAnswer[] {
  const found: KeptAnswer[] = [];
  const prefix = prefixOf(log, BY_KEY, Buffer.from(key, 'hex'));
  for (const entry of table.entries(prefix, Buffer.concat([prefix, u32(from)]))) {
    if (found.length === max) break;
    found.push(decoded(entry.key, entry.value));
  }
  return found;
}

/**
 * The answer that an item of a request has been given before; undefined if it is too old. Throws 422
 * `idempotency_key_reused` if the item was another one.
 */
export function keptAnswer(table: Table, place: AnswerToKeep): object | undefined {
  const key = keyOf(place);
  const value = table.get(key);
  const kept = value && decoded(key, value);
  if (!kept || kept.keptS < place.sinceS) return undefined;
  if (kept.fingerprint !== place.fingerprint) throw new AppError('idempotency_key_reused');
  return JSON.parse(kept.json) as object;
}

/** Keeps an answer in place of the one that the item had, and forgets the oldest ones if there are too many. */
export function keepAnswer(table: Table, place: AnswerToKeep, answer: object, max = KEPT_ANSWERS_MAX): void {
  const { log, fingerprint, nowS, sinceS, more } = place;
  const key = keyOf(place);
  const before = table.get(key);
  if (before) table.delete(timeKeyOf(place, decoded(key, before).keptS));
  const count = countIn(table, log) + (before ? 0 : 1);
  const old = [...oldest(table, log, Math.max(count - max, FORGOTTEN_AT_ONCE))].filter(
    (timeKey, i) => i < count - max || secondIn(timeKey) < sinceS,
  );
  forget(table, old);
  table.put(key, encode([fingerprint, nowS, JSON.stringify({ ...answer, ...more })]));
  table.put(timeKeyOf(place, nowS), encode([]));
  setCount(table, log, count - old.length);
}

/** Forgets up to `max` answers from before second `sinceS`, of all collections. Returns how many. */
export function forgetAnswers(table: Table, sinceS: number, max: number): number {
  let left = max;
  for (let from: Buffer = ALL; left > 0; ) {
    const [first] = take(table.entries(ALL, from), 1);
    if (!first) break;
    const log = collectionOfKey(first.key);
    const old = [...oldest(table, log, left)].filter((timeKey) => secondIn(timeKey) < sinceS);
    if (old.length > 0) {
      forget(table, old);
      setCount(table, log, countIn(table, log) - old.length);
    }
    left -= old.length;
    from = collectionPrefix((log + 1) as CollectionId);
  }
  return max - left;
}

/** The rows by time of the oldest answers of a collection. */
const oldest = (table: Table, log: CollectionId, max: number): Buffer[] =>
  take(table.keys(prefixOf(log, BY_TIME)), max);

function forget(table: Table, timeKeys: readonly Buffer[]): void {
  for (const timeKey of timeKeys) {
    table.delete(rowOf(timeKey));
    table.delete(timeKey);
  }
}

function countIn(table: Table, log: CollectionId): number {
  const value = table.get(prefixOf(log, COUNT));
  return value ? (decode(value, ['number'], 'the count of kept answers')[0] as number) : 0;
}

function setCount(table: Table, log: CollectionId, count: number): void {
  if (count > 0) table.put(prefixOf(log, COUNT), encode([count]));
  else table.delete(prefixOf(log, COUNT));
}
