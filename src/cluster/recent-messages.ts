// The latest messages of the command log that a node has received, by which it notices that the log has lost some of them,
// and has them to append again. Runs on the main thread.
import type { StreamMessage } from './log-stream.js';

const MESSAGES_MAX = 4096;
const BYTES_MAX = 16 * 1024 * 1024;

/** Messages that a log has, as far as it matters which they are: their ids by sequence. */
export interface KnownLog {
  /** Nothing is said of messages before this one, and there are none after the last one. */
  readonly first: number;
  readonly last: number;
  readonly ids: ReadonlyMap<number, string>;
}

/** How what a node has received differs from a log. */
export interface Difference {
  /** Whether the log has other messages than the node, or ends before them. One that it lacks in its middle does not count. */
  readonly isOther: boolean;
  /** Whether all of the difference is known: what is kept goes back to a message that both have. */
  readonly isWhole: boolean;
  /** Messages of the node that the log does not have, with the ids to append them by. */
  readonly alone: readonly StreamMessage[];
}

/**
 * The id under which a message is appended again: all nodes that have it use the same one, and the stream, which may
 * remember an id of a message that it has lost, takes it for another message.
 */
const idAgain = (id: string): string => `${id}+`;

/** The id that a message had at first. */
const firstId = (id: string): string => id.replace(/\++$/, '');

/** The id of a message, and whether it was applied to a target, or the target had nothing up to it. */
export interface BegunMessage {
  readonly id: string;
  readonly wasApplied: boolean;
}

export class RecentMessages {
  private messages = new Map<number, StreamMessage>();
  /** Whether they stand in the order of their sequences. */
  private isInOrder = true;
  private readonly sequences = new Map<string, number>();
  /** The last messages up to which the targets had been applied before the start, as far as their data tells. */
  private readonly begun = new Map<number, BegunMessage>();
  private bytes = 0;
  private sequence = 0;

  /** Takes note of a message up to which a target had been applied before the start. */
  begin(sequence: number, message: BegunMessage): void {
    const wasApplied = this.begun.get(sequence)?.wasApplied === true || message.wasApplied;
    this.begun.set(sequence, { ...message, wasApplied });
  }

  /** The last message that is known to have been applied before the start. */
  get begunThrough(): number {
    return Math.max(0, ...this.begun.keys());
  }

  add(message: StreamMessage): void {
    // It had been applied before the start, and is received again.
    if (this.messages.has(message.sequence)) return;
    this.messages.set(message.sequence, message);
    this.isInOrder &&= message.sequence > this.sequence;
    this.sequence = Math.max(this.sequence, message.sequence);
    if (message.id !== '') this.sequences.set(firstId(message.id), message.sequence);
    this.bytes += message.payload.length;
    if (this.messages.size <= MESSAGES_MAX && this.bytes <= BYTES_MAX) return;
    for (const [sequence, { id, payload }] of this.inOrder()) {
      if (this.messages.size <= MESSAGES_MAX && this.bytes <= BYTES_MAX) break;
      this.messages.delete(sequence);
      this.sequences.delete(firstId(id));
      this.bytes -= payload.length;
    }
  }

  /** Sorts only where it matters: after a start, many messages come that stand before the known ones. */
  private inOrder(): ReadonlyMap<number, StreamMessage> {
    if (!this.isInOrder) this.messages = new Map([...this.messages].sort(([a], [b]) => a - b));
    this.isInOrder = true;
    return this.messages;
  }

  /** Whether the node has received another message with this sequence, or this message with another one. */
  contradicts({ sequence, id }: Pick<StreamMessage, 'sequence' | 'id'>): boolean {
    const known = this.messages.get(sequence)?.id ?? this.begun.get(sequence)?.id ?? id;
    return known !== id || (id !== '' && (this.sequences.get(firstId(id)) ?? sequence) !== sequence);
  }

  /** Sequences and ids of the latest messages, in order. */
  latest(count: number): [sequence: number, id: string][] {
    return [...this.inOrder().values()].slice(-count).map(({ sequence, id }) => [sequence, id]);
  }

  /** The sequence of the first message that is known; Infinity if there is none. */
  get first(): number {
    return Math.min(this.inOrder().keys().next().value ?? Infinity, ...this.begun.keys());
  }

  /** The sequence of the last message that is known; 0 if there is none. */
  get last(): number {
    return Math.max(this.sequence, this.begunThrough);
  }

  idAt(sequence: number): string | undefined {
    return this.messages.get(sequence)?.id;
  }

  differenceFrom({ first, last, ids }: KnownLog): Difference {
    const isOther = (sequence: number, id: string): boolean =>
      sequence >= first && (sequence > last || (ids.get(sequence) ?? id) !== id);
    const own = [...this.inOrder().values()].filter(({ sequence }) => sequence >= first);
    const others = own.filter(({ sequence, id }) => isOther(sequence, id));
    const begunOthers = [...this.begun].filter(([sequence, { id }]) => isOther(sequence, id));
    const isKnown = ([sequence, { wasApplied }]: [number, BegunMessage]): boolean =>
      !wasApplied || this.messages.has(sequence);
    const firstOther = Math.min(
      ...[...others.map(({ sequence }) => sequence), ...begunOthers.map(([sequence]) => sequence)],
    );
    // Before a message that both have, there is nothing that this node alone has.
    const haveCommon = [...own.map(({ sequence }) => sequence), ...this.begun.keys()].some(
      (sequence) => sequence >= first && sequence < firstOther,
    );
    const known = new Set([...ids.values()].map(firstId));
    return {
      isOther: firstOther < Infinity,
      isWhole:
        begunOthers.every(isKnown) &&
        (firstOther === Infinity || firstOther === 1 || haveCommon || this.messages.size === 0),
      alone: others
        .filter(({ id }) => id !== '' && !known.has(firstId(id)))
        .map((one) => ({ ...one, id: idAgain(one.id) })),
    };
  }
}
