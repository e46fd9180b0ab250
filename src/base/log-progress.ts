// How far a node has received and applied the command log of its cluster, in memory that its threads share. The main
// thread writes it; all threads that serve HTTP read it. Any thread.
import { setTimeout as sleep } from 'node:timers/promises';

/** Plain data for other threads. */
export interface SharedProgress {
  readonly memory: SharedArrayBuffer;
  /** The id of the stream. */
  readonly stream: string;
  /** The ids of the streams that it was rebuilt from, all of which have been applied. */
  readonly earlier: readonly string[];
}

const RECEIVED = 0;
const APPLIED = 1;
const CURRENT_AT = 2;
const CELLS = 3;
/** Cells of each shard, which come after these. */
const SHARD = { last: 0, through: 1 } as const;
const SHARD_CELLS = 2;
const LOOK_MS = 2;
/** Characters of the id that tokens begin with. */
const STREAM_CHARACTERS = 8;
const TOKEN = /^([0-9a-f]{8}):(\d{1,15})$/;

export class LogProgress {
  private readonly cells: BigInt64Array;

  constructor(readonly shared: SharedProgress) {
    this.cells = new BigInt64Array(shared.memory);
  }

  static of(stream: string, shards: number, earlier: readonly string[] = []): LogProgress {
    const memory = new SharedArrayBuffer((CELLS + SHARD_CELLS * shards) * BigInt64Array.BYTES_PER_ELEMENT);
    return new LogProgress({ memory, stream, earlier });
  }

  note(received: number, applied: number): void {
    Atomics.store(this.cells, RECEIVED, BigInt(received));
    Atomics.store(this.cells, APPLIED, BigInt(applied));
  }

  /** Takes note of the last message that has been applied to a shard. */
  noteLast(shard: number, sequence: number): void {
    this.setShard(shard, 'last', sequence);
  }

  /** Takes note that everything up to a message that concerns a shard has been applied. */
  noteThrough(shard: number, sequence: number): void {
    this.setShard(shard, 'through', sequence);
  }

  /** The last message that this node has applied to one of these shards since it started. */
  lastApplied(shards: readonly number[]): number {
    return Math.max(0, ...shards.map((shard) => this.ofShard(shard, 'last')));
  }

  /** Resolves to whether everything to these shards up to a message has been applied within `waitMs`. */
  async reached(sequence: number, shards: readonly number[], waitMs: number): Promise<boolean> {
    const isReached = (): boolean => shards.every((shard) => this.ofShard(shard, 'through') >= sequence);
    for (const untilMs = performance.now() + waitMs; !isReached(); await sleep(LOOK_MS))
      if (performance.now() > untilMs) return false;
    return true;
  }

  private ofShard(shard: number, what: keyof typeof SHARD): number {
    return Number(Atomics.load(this.cells, CELLS + SHARD_CELLS * shard + SHARD[what]));
  }

  private setShard(shard: number, what: keyof typeof SHARD, sequence: number): void {
    Atomics.store(this.cells, CELLS + SHARD_CELLS * shard + SHARD[what], BigInt(sequence));
  }

  /** Takes note that everything that was acknowledged before this moment (milliseconds since 1970) has been applied. */
  noteCurrent(atMs: number): void {
    if (Number(Atomics.load(this.cells, CURRENT_AT)) < atMs) Atomics.store(this.cells, CURRENT_AT, BigInt(atMs));
  }

  /** How old what the node shows may be, in milliseconds; undefined if that has not been known since it started. */
  ageMs(nowMs: number): number | undefined {
    const atMs = Number(Atomics.load(this.cells, CURRENT_AT));
    return atMs === 0 ? undefined : Math.max(0, nowMs - atMs);
  }

  /** Everything up to this message has been applied. */
  get applied(): number {
    return Number(Atomics.load(this.cells, APPLIED));
  }

  /**
   * Says what an answer of this node may show. A read that comes with it, to whichever node, shows at least as much.
   */
  get token(): string {
    return `${beginOf(this.shared.stream)}:${Atomics.load(this.cells, RECEIVED)}`;
  }

  /**
   * The message that a token speaks of; undefined for a text that is no token. What a stream says that this node does not
   * know may be of a later one, which the node has not followed yet: it is never reached.
   */
  sequenceOf(token: string): number | undefined {
    const [, begin, sequence] = TOKEN.exec(token) ?? [];
    if (begin === undefined) return undefined;
    const { stream, earlier } = this.shared;
    if (begin === beginOf(stream)) return Number(sequence);
    return earlier.some((each) => begin === beginOf(each)) ? 0 : Infinity;
  }
}

const beginOf = (stream: string): string => stream.slice(0, STREAM_CHARACTERS);
