// What has changed in the rows of a shard since its checkpoint: one record a commit, written in the transaction that it
// tells of. A shard that is opened brings what its checkpoint holds up to date by it (src/engine/checkpoint). It begins
// with a checkpoint, is trimmed behind the next one, and ends where it grows too large: then there is nothing to be
// brought up to date, and all is loaded from the other tables. Owner only.
import { randomBytes } from 'node:crypto';
import typia from 'typia';
import { AppError } from '../api/errors.js';
import type { CollectionId, Ordinal } from '../api/ids.js';
import { DamagedRecord } from './damage.js';
import type { Environment } from './lmdb.js';
import { decode, encode } from './records.js';
import type { SHARD_TABLES } from './shard-reader.js';
import { ALL, type Table, removeAll } from './table.js';

// The keys: numbers, in order, and a head behind them; what is found and removed by them alone.

/** Behind every number: those begin with zeros. */
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

/** Rows of one part of a collection that one transaction takes out and puts in. */
export interface PartChange {
  id: CollectionId;
  removed: Ordinal[];
  /** What was indexed of each of the removed: its text, null where it has none. null: words were not indexed then. */
  texts: (string | null)[] | null;
  /** The terms of the metadata of each of them. null: metadata was not indexed then. */
  terms: (readonly string[])[] | null;
  added: Ordinal[];
}

/** Where the log stands. */
export interface LogState {
  /** Names the log from its beginning to its end; undefined while none is kept. */
  readonly id: string | undefined;
  /** Number of the last change. It goes up as long as a log is kept. */
  readonly last: number;
  /** Of the records that are not to be trimmed. */
  readonly bytes: number;
  /** Records up to this number may go. */
  readonly trimTo: number;
}

/** More takes longer to make again than to load. */
export const CHANGES_BYTES_MAX = 64 * 1024 * 1024;
/** A commit adds one record and takes out so many at most. */
const TRIM_STEP = 8;
const ID_BYTES = 16;
const NO_LOG: LogState = { id: undefined, last: 0, bytes: 0, trimTo: 0 };

type ShardEnvironment = Environment<(typeof SHARD_TABLES)[number]>;
type Packed = [number, number[], (string | null)[] | null, string[][] | null, number[]];
const isPacked = typia.createIs<Packed[]>();

export class ChangeLog {
  /** As of the last commit. */
  state: LogState;

  constructor(
    private readonly env: ShardEnvironment,
    private readonly bytesMax = CHANGES_BYTES_MAX,
  ) {
    this.state = readState(env);
  }

  /** Begins a log where none is kept. */
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
   * Ends the log. Requires that no checkpoint goes on from it: where the disk is full its records stay until there is
   * another log.
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

  /** All up to `at`, a state of before, stands in a checkpoint. */
  trim(at: LogState): void {
    if (at.id === this.state.id) this.state = { ...this.state, trimTo: at.last, bytes: this.state.bytes - at.bytes };
  }

  /**
   * Changes behind a number, in order. Throws DamagedRecord where some are missing, as those that have been trimmed.
   */
  after(number: number): PartChange[] {
    const records = this.env.read(({ changes }) =>
      Array.from(changes.entries(ALL, numberKey(number + 1))).filter(({ key }) => !key.equals(HEAD_KEY)),
    );
    const isWhole =
      records.length === this.state.last - number && records.every(({ key }, i) => numberOf(key) === number + 1 + i);
    if (!isWhole) throw new DamagedRecord(`changes: some behind ${number} are missing`);
    return records.flatMap(({ value }) => decodeChanges(value));
  }

  /** Within a transaction: adds what it changes, and answers the state of after its commit. */
  append(table: Table, changes: readonly PartChange[]): LogState {
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

/** A log that is damaged is none: the checkpoint is of no use then, and nothing else is concerned. */
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

function encodeChanges(changes: readonly PartChange[]): Buffer {
  return encode([changes.map(({ id, removed, texts, terms, added }) => [id, removed, texts, terms, added])]);
}

function decodeChanges(bytes: Buffer): PartChange[] {
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
