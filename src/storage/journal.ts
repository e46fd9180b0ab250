// The journal of an environment: every command that has changed it, in the order in which they were applied. The commands
// of a commit are written in its transaction, together with the sequence of the last one and the rolling hash over all of
// them, so journal and data never differ. The oldest records are deleted when the journal is larger than allowed. The
// owner of the environment writes the journal; a command-line process reads that of a stopped server.
import { createHash, randomBytes } from 'node:crypto';
import {
  type AppliedMessage,
  type KeptMessages,
  forgetMessages,
  keepMessages,
  keptMessages,
  readMessages,
} from './applied-messages.js';
import { DamagedRecord } from './damage.js';
import { decode, encode } from './records.js';
import { ALL, type Table, removeAll } from './table.js';

/** What stands at the head of a journal, and describes the state of the environment. */
export interface JournalHead {
  /** Made when the journal begins. A copy of the environment has the same journal. */
  readonly id: string;
  /** The sequence of the last command that has been applied. Commands are numbered from 1 without gaps. */
  readonly sequence: number;
  /** The sequence of the first command that is kept; one more than `sequence` if none is. */
  readonly first: number;
  /** Bytes of the records that are kept. */
  readonly bytes: number;
  /** SHA-256 over the previous hash and the last command, in hexadecimal. It starts as the hash of nothing. */
  readonly hash: string;
  /** The time of the last record, in milliseconds. It never decreases. */
  readonly atMs: number;
}

/** The commands of one commit, or some of them if they are large. */
export interface JournalRecord {
  /** The sequence of the first command. */
  readonly first: number;
  readonly atMs: number;
  readonly commands: Buffer[];
  /** The rolling hash before the first command. */
  readonly before: string;
}

/** A command in the command log of a cluster. */
export interface LogPosition {
  /** The id of the stream. */
  readonly stream: string;
  /** The sequence of the message. */
  readonly sequence: number;
  /** Commands of the message up to and with this one. */
  readonly done: number;
  /** The id of the message; absent where there is none, and from releases that did not keep it. */
  readonly id?: string;
}

/** What an environment has applied of the command log of a cluster. */
export interface AppliedLog {
  readonly position: LogPosition;
  /** The latest messages that it has applied, in order: all from the first of these on. */
  readonly messages: readonly AppliedMessage[];
}

/** Whether a command at this position has been applied by whoever has applied everything up to `applied`. */
export const isAppliedAt = ({ sequence, done }: LogPosition, applied: LogPosition | undefined): boolean =>
  applied !== undefined && (sequence < applied.sequence || (sequence === applied.sequence && done <= applied.done));

/** An environment with a journal. */
interface JournaledEnvironment {
  read<T>(work: (tables: { journal: Table }) => T): T;
  write<T>(work: (tables: { journal: Table }) => T): T;
}

export interface JournalOptions {
  /** Bytes of records to keep; the last record is always kept. 0: no journal. */
  readonly bytesMax: number;
  /** Whether the environment applies the command log of a cluster; if not, its position in it is forgotten. */
  readonly isOfNode?: boolean;
  /** The clock that records take their times from. */
  readonly nowMs?: () => number;
}

/** It sorts after every sequence, since sequences begin with zero bytes. */
const HEAD_KEY = Buffer.from('head');
/** It sorts after the head. */
const POSITION_KEY = Buffer.from('position');
const SEQUENCE_BYTES = 8;
/** Commands of one commit that fill more than this are written as several records. */
const RECORD_BYTES = 1024 * 1024;
/** A commit deletes at most this many old records. */
const TRIM_STEP = 8;
const EMPTY_HASH = createHash('sha256').digest('hex');

export const keyOfSequence = (sequence: number): Buffer => {
  const key = Buffer.alloc(SEQUENCE_BYTES);
  key.writeBigUInt64BE(BigInt(sequence));
  return key;
};
export const sequenceOf = (key: Buffer): number => Number(key.readBigUInt64BE());

/** The rolling hash after another command. */
export const rolledHash = (hash: string, command: Uint8Array): string =>
  createHash('sha256').update(hash, 'hex').update(command).digest('hex');

/** The journal of one environment. */
export class Journal {
  /** The position of the command that is being applied, which is written in its transaction. */
  applying: LogPosition | undefined;
  /** The messages whose last commands are being applied, by sequence, which are written in the next transaction. */
  readonly messages = new Map<number, AppliedMessage>();

  private constructor(
    /** The head after the last commit. */
    public head: JournalHead,
    /** How far the environment has applied the command log of a cluster; undefined if it never has. */
    public applied: LogPosition | undefined,
    /** The messages that are kept, and those that will be once the transaction that is being written is committed. */
    private kept: KeptMessages,
    private keeping: KeptMessages,
    private readonly bytesMax: number,
    private readonly nowMs: () => number,
  ) {}

  /**
   * Opens the journal of an environment, and begins one if there is none or its head is damaged. Without a size, deletes
   * what is there and returns undefined, because what changes from now on is not in the journal.
   */
  static open(
    env: JournaledEnvironment,
    { bytesMax, isOfNode = false, nowMs = Date.now }: JournalOptions,
  ): Journal | undefined {
    const found = readHead(env);
    if (bytesMax === 0) {
      if (found) env.write(({ journal }) => removeAll(journal));
      return undefined;
    }
    const head = typeof found === 'object' ? found : begin(env);
    const position = readPosition(env);
    if (position && !isOfNode)
      env.write(({ journal }) => {
        journal.delete(POSITION_KEY);
        forgetMessages(journal);
      });
    const kept = isOfNode ? env.read(({ journal }) => keptMessages(journal)) : new Map<number, number>();
    return new Journal(head, isOfNode ? position : undefined, kept, kept, bytesMax, nowMs);
  }

  /** What the environment has applied of the command log of a cluster; null if it never has. */
  appliedLog(env: Pick<JournaledEnvironment, 'read'>): AppliedLog | null {
    const { applied: position } = this;
    return position ? { position, messages: env.read(({ journal }) => readMessages(journal)) } : null;
  }

  /**
   * Appends the commands of a transaction and its position, within it, and deletes the oldest records that are over the
   * size. Returns the head to give to `committed` after the commit.
   */
  append(table: Table, commands: readonly Buffer[]): JournalHead {
    if (this.applying) table.put(POSITION_KEY, encodePosition(this.applying));
    this.keeping = this.messages.size > 0 ? keepMessages(table, this.kept, this.messages.values()) : this.kept;
    if (commands.length === 0) return this.head;
    let head = { ...this.head, atMs: Math.max(this.head.atMs, this.nowMs()) };
    for (const some of slicesOf(commands)) {
      const record = encode([head.atMs, head.hash, some]);
      table.put(keyOfSequence(head.sequence + 1), record);
      head = {
        ...head,
        sequence: head.sequence + some.length,
        hash: some.reduce(rolledHash, head.hash),
        bytes: head.bytes + record.length,
      };
    }
    head = trimmed(table, head, this.bytesMax);
    table.put(HEAD_KEY, encodeHead(head));
    return head;
  }

  /** Takes note that the transaction of `append` is committed. */
  committed(head: JournalHead): void {
    this.head = head;
    this.kept = this.keeping;
    this.messages.clear();
    if (this.applying) this.applied = this.applying;
  }
}

const encodePosition = ({ stream, sequence, done, id }: LogPosition): Buffer =>
  encode([stream, sequence, done, ...(id === undefined ? [] : [id])]);

/** How far an environment has applied the command log of a cluster. */
export function readPosition(env: Pick<JournaledEnvironment, 'read'>): LogPosition | undefined {
  const bytes = env.read(({ journal }) => journal.get(POSITION_KEY));
  if (!bytes) return undefined;
  const [stream, sequence, done, id] = decode(bytes, ['string', 'number', 'number', 'string'], 'journal', 1) as [
    string,
    number,
    number,
    string?,
  ];
  return { stream, sequence, done, ...(id !== undefined && { id }) };
}

/** Says that everything that an environment has applied comes before the begin of this stream. */
export function beginStream(env: Pick<JournaledEnvironment, 'write'>, stream: string): void {
  env.write(({ journal }) => {
    journal.put(POSITION_KEY, encodePosition({ stream, sequence: 0, done: 0 }));
    forgetMessages(journal);
  });
}

function* slicesOf(commands: readonly Buffer[]): Generator<Buffer[]> {
  let some: Buffer[] = [];
  let bytes = 0;
  for (const command of commands) {
    if (some.length > 0 && bytes + command.length > RECORD_BYTES) {
      yield some;
      some = [];
      bytes = 0;
    }
    some.push(command);
    bytes += command.length;
  }
  yield some;
}

/** Deletes the oldest records of a journal that is too large, and returns its head without them. */
function trimmed(table: Table, head: JournalHead, bytesMax: number): JournalHead {
  let { first, bytes } = head;
  for (let step = 0; step < TRIM_STEP && bytes > bytesMax; step++) {
    const key = keyOfSequence(first);
    const record = table.get(key);
    if (!record) throw new DamagedRecord(`journal: the record of command ${first} is missing`);
    const next = first + decodeRecord(first, record).commands.length;
    if (next > head.sequence) break;
    table.delete(key);
    first = next;
    bytes -= record.length;
  }
  return { ...head, first, bytes };
}

function begin(env: JournaledEnvironment): JournalHead {
  const head = { id: randomBytes(16).toString('hex'), sequence: 0, first: 1, bytes: 0, hash: EMPTY_HASH, atMs: 0 };
  env.write(({ journal }) => {
    removeAll(journal);
    journal.put(HEAD_KEY, encodeHead(head));
  });
  return head;
}

/** The head of the journal; undefined if there is no journal, and `damaged` if there is one without a readable head. */
export function readHead(env: Pick<JournaledEnvironment, 'read'>): JournalHead | 'damaged' | undefined {
  try {
    return env.read(({ journal }) => {
      const bytes = journal.get(HEAD_KEY);
      return bytes && decodeHead(bytes);
    });
  } catch (error) {
    if (error instanceof DamagedRecord) return 'damaged';
    throw error;
  }
}

/**
 * The records from the one that begins with command `first` on, in order. Throws DamagedRecord if one is missing or
 * damaged.
 */
export function* readRecords(journal: Table, first: number): Generator<JournalRecord> {
  let expected = first;
  for (const { key, value } of journal.entries(ALL, keyOfSequence(first))) {
    if (key.equals(HEAD_KEY)) return;
    if (sequenceOf(key) !== expected)
      throw new DamagedRecord(`journal: command ${expected} is missing, the next one is ${sequenceOf(key)}`);
    const record = decodeRecord(expected, value);
    yield record;
    expected += record.commands.length;
  }
}

/** What is wrong with a journal; undefined if it is intact, or there is none. Reads all of it. */
export function journalDamage(journal: Table): string | undefined {
  try {
    const bytes = journal.get(HEAD_KEY);
    if (!bytes) return undefined;
    const head = decodeHead(bytes);
    let [sequence, hash] = [head.first - 1, undefined as string | undefined];
    for (const { before, commands } of readRecords(journal, head.first)) {
      if (hash !== undefined && hash !== before) return `the hash of command ${sequence} is another one`;
      sequence += commands.length;
      hash = commands.reduce(rolledHash, before);
    }
    if (sequence !== head.sequence) return `it ends with command ${sequence} in place of ${head.sequence}`;
    return hash === undefined || hash === head.hash ? undefined : `the hash of command ${sequence} is another one`;
  } catch (error) {
    if (error instanceof DamagedRecord) return error.message;
    throw error;
  }
}

function encodeHead({ id, sequence, first, bytes, hash, atMs }: JournalHead): Buffer {
  return encode([id, sequence, first, bytes, hash, atMs]);
}

function decodeHead(record: Buffer): JournalHead {
  const [id, sequence, first, bytes, hash, atMs] = decode(
    record,
    ['string', 'number', 'number', 'number', 'string', 'number'],
    'journal',
  ) as [string, number, number, number, string, number];
  return { id, sequence, first, bytes, hash, atMs };
}

function decodeRecord(first: number, record: Buffer): JournalRecord {
  const [atMs, before, commands] = decode(record, ['number', 'string', 'array'], 'journal') as [
    number,
    string,
    unknown[],
  ];
  if (commands.length === 0 || !commands.every((command) => command instanceof Uint8Array))
    throw new DamagedRecord(`journal: the record of command ${first} is not a list of commands`);
  return { first, atMs, commands: commands as Buffer[], before };
}
