// The log of changes: which rows of a shard have changed since its checkpoint, one record for each commit, written in
// that commit's transaction. When the shard is opened, the log is replayed on the checkpoint (src/engine/checkpoint).
// The log begins with a checkpoint and is trimmed by the next one. If it grows too large it ends, and the next start
// loads everything from the other tables. Owner only.
import { randomBytes } from 'node:crypto';
import typia from 'typia';
import { AppError } from '../api/errors.js';
import type { CollectionId, Ordinal } from '../api/ids.js';
import { DamagedRecord } from './damage.js';
import type { Environment } from './lmdb.js';
import { decode, encode } from './records.js';
import type { SHARD_TABLES } from './shard-reader.js';
import { ALL, type Table, removeAll } from './table.js';

// Keys of the table: ascending numbers, and a head after them.

/** It sorts after every number, since numbers begin with zero bytes. */
const HEAD_KEY = Buffer.from('head');
const NUMBER_BYTES = 8;

export function numberKey(number: number): Buffer {
  const key = Buffer.alloc(NUMBER_BYTES);
  key.writeBigUInt64BE(BigInt(number));
  return key;
}

const numberOf = (key: Buffer): number => Number(key.readBigUInt64BE());

/** The lowest numbers of records, up to `max`. */
function firstNumbers(table: Table, max: number): number[] {
  const numbers: number[] = [];
  for (const key of table.keys(ALL)) {
    if (key.equals(HEAD_KEY) || numbers.push(numberOf(key)) === max) break;
  }
  return numbers;
}

/** Rows of one segment that one transaction removes and adds. */
export interface SegmentChange {
  id: CollectionId;
  removed: Ordinal[];
  /**
   * The text of each removed row, null for a row without text. null instead of the list: the texts are not known or
   * were not indexed.
   */
  texts: (string | null)[] | null;
  /** The metadata terms of each removed row. null: the terms are not known or were not indexed. */
  terms: (readonly string[])[] | null;
  added: Ordinal[];
}

/** State of the log. */
export interface LogState {
  /** Id of the log, from its beginning to its end; undefined if no log is kept. */
  readonly id: string | undefined;
  /** Number of the last change. It increases as long as a log is kept. */
  readonly last: number;
  /** Bytes of the records that must be kept. */
  readonly bytes: number;
  /** Records up to this number may be deleted. */
  readonly trimTo: number;
}

/** Maximum size of the log in bytes. Replaying more takes longer than loading everything. */
export const CHANGES_BYTES_MAX = 64 * 1024 * 1024;
/** A commit adds one record and deletes at most this many. */
const TRIM_STEP = 8;
const ID_BYTES = 16;
const NO_LOG: LogState = { id: undefined, last: 0, bytes: 0, trimTo: 0 };

type ShardEnvironment = Environment<(typeof SHARD_TABLES)[number]>;
type Packed = [number, number[], (string | null)[] | null, string[][] | null, number[]];
const isPacked = typia.createIs<Packed[]>();

/** The log of changes of one shard. */
export class ChangeLog {
  /** The state after the last commit. */
  state: LogState;

  constructor(
    private readonly env: ShardEnvironment,
    private readonly bytesMax = CHANGES_BYTES_MAX,
  ) {
    this.state = readState(env);
  }

  /** Begins a log if none is kept. */
  begin(): void {
    if (this.state.id !== undefined) return;
    const id = randomBytes(ID_BYTES);
    this.env.write(({ changes }) => {
      removeAll(changes);
      changes.put(HEAD_KEY, Buffer.concat([id, numberKey(this.state.last)]));
    });
    this.state = { ...this.state, id: id.toString('hex'), bytes: 0, trimTo: this.state.last };
  }

  /**
   * Ends the log. Requires that no checkpoint depends on it. If the disk is full, its records stay until the next log
   * begins.
   */
  end(): void {
    const { state } = this;
    if (state.id === undefined) return;
    this.state = afterEnd(state);
    try {
      this.env.write(({ changes }) => removeAll(changes));
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
    }
  }

  /** Allows deletion of all records up to `at`, an earlier state, because a checkpoint contains their changes. */
  trim(at: LogState): void {
    if (at.id === this.state.id) this.state = { ...this.state, trimTo: at.last, bytes: this.state.bytes - at.bytes };
  }

  /**
   * The changes after a number, in order. Throws DamagedRecord if some are missing, for instance because they were
   * trimmed.
   */
  after(number: number): SegmentChange[] {
    const records = this.env.read(({ changes }) =>
      Array.from(changes.entries(ALL, numberKey(number + 1))).filter(({ key }) => !key.equals(HEAD_KEY)),
    );
    const isWhole =
      records.length === this.state.last - number && records.every(({ key }, i) => numberOf(key) === number + 1 + i);
    if (!isWhole) throw new DamagedRecord(`changes: some after ${number} are missing`);
    return records.flatMap(({ value }) => decodeChanges(value));
  }

  /** Appends the changes of a transaction, within it. Returns the state to set after its commit. */
  append(table: Table, changes: readonly SegmentChange[]): LogState {
    const { state } = this;
    if (state.id === undefined || changes.length === 0) return state;
    const record = encodeChanges(changes);
    if (state.bytes + record.length > this.bytesMax) return removeAll(table), afterEnd(state);
    const last = state.last + 1;
    table.put(numberKey(last), record);
    for (const number of firstNumbers(table, TRIM_STEP)) if (number <= state.trimTo) table.delete(numberKey(number));
    return { ...state, last, bytes: state.bytes + record.length };
  }
}

/**
 * The state of the stored log. A damaged log counts as none: the checkpoint is then unusable, and nothing else is
 * affected.
 */
function readState(env: ShardEnvironment): LogState {
  try {
    return env.read(({ changes }) => stateIn(changes));
  } catch (error) {
    if (error instanceof DamagedRecord) return NO_LOG;
    throw error;
  }
}

function stateIn(table: Table): LogState {
  const head = table.get(HEAD_KEY);
  if (!head) return NO_LOG;
  if (head.length !== ID_BYTES + NUMBER_BYTES) throw new DamagedRecord(`changes: a head of ${head.length} bytes`);
  let [last, bytes] = [numberOf(head.subarray(ID_BYTES)), 0];
  for (const { key, value } of table.entries(ALL))
    if (!key.equals(HEAD_KEY)) [last, bytes] = [Math.max(last, numberOf(key)), bytes + value.length];
  return { id: head.toString('hex', 0, ID_BYTES), last, bytes, trimTo: 0 };
}

const afterEnd = ({ last }: LogState): LogState => ({ id: undefined, last, bytes: 0, trimTo: last });

function encodeChanges(changes: readonly SegmentChange[]): Buffer {
  return encode([changes.map(({ id, removed, texts, terms, added }) => [id, removed, texts, terms, added])]);
}

function decodeChanges(bytes: Buffer): SegmentChange[] {
  const [packed] = decode(bytes, ['array'], 'changes');
  if (!isPacked(packed)) throw new DamagedRecord('changes: wrong shape');
  return packed.map(([id, removed, texts, terms, added]) => ({
    id: id as CollectionId,
    removed: removed as Ordinal[],
    texts,
    terms,
    added: added as Ordinal[],
  }));
}
