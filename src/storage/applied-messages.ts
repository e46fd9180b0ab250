// The latest messages of a cluster's command log that an environment has applied, kept in the transactions that applied
// them: a node that starts again still has them, if the log has lost them. They stand in the table of the journal, behind
// its records. The owner of the environment writes them.
import { decode, encode } from './records.js';
import type { Table } from './table.js';

/** A message of which everything has been applied. */
export interface AppliedMessage {
  readonly sequence: number;
  readonly id: string;
  readonly payload: Uint8Array;
}

const MESSAGES_MAX = 256;
const BYTES_MAX = 2 * 1024 * 1024;
/** Behind the head of the journal, and before the position. */
const PREFIX = Buffer.from('message');
const SEQUENCE_BYTES = 8;

const keyOf = (sequence: number): Buffer => {
  const key = Buffer.alloc(PREFIX.length + SEQUENCE_BYTES);
  PREFIX.copy(key);
  key.writeBigUInt64BE(BigInt(sequence), PREFIX.length);
  return key;
};

const sequenceIn = (key: Buffer): number => Number(key.readBigUInt64BE(PREFIX.length));

/** The messages that are kept, in order; only those after a damaged one. */
export function readMessages(journal: Table): AppliedMessage[] {
  let found: AppliedMessage[] = [];
  for (const { key, value } of journal.inspect(PREFIX))
    if (value) {
      const [id, payload] = decode(value, ['string', 'object'], 'message') as [string, Buffer];
      found.push({ sequence: sequenceIn(key), id, payload });
    } else found = [];
  return found;
}

/** The sequences of those that are kept, the oldest first, and the bytes of each. */
export type KeptMessages = ReadonlyMap<number, number>;

export const keptMessages = (journal: Table): KeptMessages =>
  new Map(Array.from(journal.inspect(PREFIX), ({ key, value }) => [sequenceIn(key), value?.length ?? 0]));

/** Keeps more messages, and deletes the oldest ones that are too many, but never the last one. Returns what is kept then. */
export function keepMessages(journal: Table, kept: KeptMessages, more: Iterable<AppliedMessage>): KeptMessages {
  const after = new Map(kept);
  for (const { sequence, id, payload } of more) {
    journal.put(keyOf(sequence), encode([id, payload]));
    after.set(sequence, payload.length);
  }
  let bytes = [...after.values()].reduce((sum, each) => sum + each, 0);
  for (const [sequence, length] of after) {
    if (after.size === 1 || (after.size <= MESSAGES_MAX && bytes <= BYTES_MAX)) break;
    journal.delete(keyOf(sequence));
    after.delete(sequence);
    bytes -= length;
  }
  return after;
}

export function forgetMessages(journal: Table): void {
  for (const sequence of keptMessages(journal).keys()) journal.delete(keyOf(sequence));
}
