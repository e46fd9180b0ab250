// What a cluster needs of its command log: an ordered, numbered stream that keeps what it has acknowledged. Types only.

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
  readonly id: string;
  /** The sequence of the first message that is kept. */
  readonly first: number;
  /** The sequence of the last message. */
  readonly last: number;
  readonly bytes: number;
}

export interface LogStream {
  /** Whether the stream has not been reached since the node started. */
  readonly isAway?: boolean;
  /** Made when the stream was created, so another stream of the same name has another id. */
  readonly id: string;
  readonly payloadBytesMax: number;
  /** Bytes of the stream at which it refuses messages. */
  readonly bytesMax: number;
  /**
   * Appends a message, and resolves to its sequence once a majority of the servers has synced it. The same id is appended
   * once within two minutes. Rejects if that is not known in time.
   */
  publish(target: string, payload: Uint8Array, id: string, timeoutMs: number): Promise<number>;
  /** The same, but only if `last` is the sequence of the last message to this target. */
  publishAfter(target: string, payload: Uint8Array, last: number, timeoutMs: number): Promise<number>;
  /** The sequence of the last message to a target; 0 if there is none. */
  lastOf(target: string): Promise<number>;
  /** Calls `take` with messages when they are stored. Some may be missing, and an order is not promised. */
  onStored(take: (message: StreamMessage) => void): void;
  /** Some messages from a sequence on, in order; none if there are none yet. */
  read(from: number): AsyncIterable<StreamMessage>;
  state(): Promise<StreamState>;
  /** Deletes the messages before a sequence. */
  trim(before: number): Promise<void>;
  /** Tells all nodes something that may be lost. */
  tell(what: object): void;
  onTold(take: (what: unknown) => void): void;
  close(): Promise<void>;
}
