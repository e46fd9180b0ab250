// What a cluster needs of its command log: an ordered, numbered stream that keeps what it has acknowledged.

/** A message of the log. */
export interface StreamMessage {
  /** Numbered from 1 without gaps. */
  readonly sequence: number;
  /** The last part of its subject: the number of a shard, or `catalog`. */
  readonly target: string;
  readonly payload: Uint8Array;
  /** The id that its sender gave it. */
  readonly id: string;
}

export interface StreamState {
  /** '' if the stream is not there any more. */
  readonly id: string;
  /** The sequence of the first message that is kept. */
  readonly first: number;
  /** The sequence of the last message. */
  readonly last: number;
  readonly bytes: number;
}

/** The stream has no room for a message. */
export class StreamFull extends Error {
  override readonly name = 'StreamFull';
}

/**
 * Makes another stream take over from one that has lost messages. What was in the previous stream up to `through` is in
 * the data of the node `source`.
 */
export interface Rebuild {
  /** Counts the rebuilds of the cluster from 1. */
  readonly generation: number;
  /** The id of the new stream, and those of the ones before, the latest first. */
  readonly stream: string;
  readonly earlier: readonly string[];
  readonly source: string;
  readonly through: number;
  /** What the source has applied of each target of the previous stream. */
  readonly targets: Readonly<Record<string, number>>;
  /** Where each of the earlier streams ended for the node that it was rebuilt from. Absent from earlier releases. */
  readonly throughs?: readonly number[];
  /** Sequences and ids of the latest messages that the source has applied. Absent from earlier releases. */
  readonly recent?: readonly (readonly [sequence: number, id: string])[];
}

/** What a node tells all nodes of. */
export type News = 'state' | 'event' | 'taken';

export interface LogStream {
  /** Whether the stream has not been reached since the node started. */
  readonly isAway?: boolean;
  /** Made when the stream was created, so another stream of the same name has another id. */
  readonly id: string;
  /** What the data of its nodes began with: 'empty', or something that its first node had. */
  readonly origin: string;
  readonly payloadBytesMax: number;
  /** Bytes of the stream at which it refuses messages. */
  readonly bytesMax: number;
  /**
   * Appends a message, and resolves to its sequence once a majority of the servers has synced it. The same id is appended
   * once within two minutes. Rejects with StreamFull if there is no room for it, and if it is not known in time.
   */
  publish(target: string, payload: Uint8Array, id: string, timeoutMs: number): Promise<number>;
  /** The same, but only if `last` is the sequence of the last message to this target. */
  publishAfter(message: Omit<StreamMessage, 'sequence'>, last: number, timeoutMs: number): Promise<number>;
  /** The last message to a target; undefined if there is none. */
  lastOf(target: string): Promise<Pick<StreamMessage, 'sequence' | 'payload'> | undefined>;
  /** Calls `take` with messages when they are stored. Some may be missing, and an order is not promised. */
  onStored(take: (message: StreamMessage) => void): void;
  /** Some messages from a sequence on, in order; none if there are none yet. */
  read(from: number): AsyncIterable<StreamMessage>;
  state(): Promise<StreamState>;
  /** Deletes the messages before a sequence. */
  trim(before: number): Promise<void>;
  /** The rebuild that has made the stream; undefined if none has. */
  readonly rebuild: Rebuild | undefined;
  /** The latest rebuild of the cluster, which may have made another stream. */
  latestRebuild(): Promise<Rebuild | undefined>;
  /** Makes the stream of a rebuild. Rejects if another node has made one of the same generation. */
  announceRebuild(rebuild: Rebuild): Promise<void>;
  /** Appends a message to the stream of a rebuild, as `publish` does. */
  publishTo(rebuild: Rebuild, message: Omit<StreamMessage, 'sequence'>, timeoutMs: number): Promise<void>;
  /** Tells all nodes something that may be lost. */
  tell(of: News, what: object): void;
  /** Calls `take` with what any node tells, this one too. */
  onTold(of: News, take: (what: unknown) => void): void;
  close(): Promise<void>;
}
