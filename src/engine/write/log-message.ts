// The messages of a cluster's command log: the commands that one node sends to a shard or to the catalog in one batch,
// in the order in which every node applies them. Pure functions.
import { Packr, Unpackr } from 'msgpackr';
import { unshared } from '../../base/bytes.js';
import type { AppliedMessage } from '../../storage/applied-messages.js';
import type { LogPosition } from '../../storage/journal.js';
import type { ShardCommand } from './commands.js';

/** What a message changes: a shard by its number, or the catalog, which the owner of shard 0 has. */
export type LogTarget = number | 'catalog';

/** A message as a node hands it to the owner that applies it. */
interface LogMessage {
  readonly sequence: number;
  readonly payload: Uint8Array;
  readonly id: string;
  /** Whether somebody on this node waits for the results. */
  readonly isAwaited: boolean;
}

/** Messages of one target in the order of the log. */
export interface LogBatch {
  readonly target: LogTarget;
  /** The id of the stream. */
  readonly stream: string;
  readonly messages: readonly LogMessage[];
  /** The target has no other messages up to this sequence. */
  readonly through: number;
  /** The id of the message with that sequence, if it is known. */
  readonly throughId?: string | undefined;
}

export interface LoggedCommand {
  readonly command: ShardCommand;
  readonly at: LogPosition;
  /** The message that ends with the command. */
  readonly ends?: AppliedMessage;
}

/** Raised when the layout of messages changes; a node refuses what it does not know. */
const LAYOUT = 1;

// Typed arrays keep their types, which plain MessagePack has not.
const packr = new Packr({ useRecords: false, moreTypes: true });
const unpackr = new Unpackr({ useRecords: false, moreTypes: true });

export const packMessage = (commands: readonly ShardCommand[]): Buffer =>
  packr.pack([LAYOUT, commands.map((command) => withOwnBytes(command))]);

/** The commands of a message. Throws Error for a layout of a later release. */
export function unpackMessage(payload: Uint8Array): ShardCommand[] {
  const [layout, commands] = unpackr.unpack(payload) as [number, ShardCommand[]];
  if (layout !== LAYOUT) throw new Error(`a message of the command log has layout ${layout}, and this release knows 1`);
  return commands;
}

/** Copies what is in shared memory, which msgpackr does not take. */
function withOwnBytes(value: unknown): unknown {
  if (value instanceof Uint8Array || value instanceof Float32Array || value instanceof Uint32Array)
    return unshared(value as Uint8Array);
  if (Array.isArray(value)) return value.map(withOwnBytes);
  if (typeof value !== 'object' || value === null) return value;
  const own: Record<string, unknown> = {};
  for (const [field, each] of Object.entries(value)) if (each !== undefined) own[field] = withOwnBytes(each);
  return own;
}
