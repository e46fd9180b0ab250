// Which node leads, that is, does what one node does for all: sweeps, growth, jobs. It leads by a message of the command
// log, which it repeats every few seconds; another node takes over when none has come for ten. Runs on the main thread.
import type { LogStream, StreamMessage } from './log-stream.js';

/** The target of messages by which a node leads. */
export const LEAD = 'lead';
/** The node that leads by such a message. */
export const leaderIn = (payload: Uint8Array): string => Buffer.from(payload).toString();

const LEAD_MS = 10_000;
const PUBLISH_MS = 2000;

export class Leadership {
  private latest: { node: string; sequence: number; heardAtMs: number } | undefined;

  constructor(
    private readonly own: string,
    private readonly stream: Pick<LogStream, 'lastOf' | 'publishAfter'>,
  ) {}

  /** The node that leads; undefined if none does, as far as this node has heard. */
  get node(): string | undefined {
    return this.latest && performance.now() - this.latest.heardAtMs < LEAD_MS ? this.latest.node : undefined;
  }

  /** Whether this node leads. */
  get isHere(): boolean {
    return this.node === this.own;
  }

  /** Takes a message by which a node leads. */
  heard({ sequence, payload }: Pick<StreamMessage, 'sequence' | 'payload'>): void {
    this.latest = { node: leaderIn(payload), sequence, heardAtMs: performance.now() };
  }

  /**
   * Renews the lead of this node, or takes it over from one that has not been heard of for ten seconds. `id` is that of
   * the message; `sinceMs` is when this node began to listen, by a clock that does not jump.
   */
  async renew(id: string, sinceMs: number): Promise<void> {
    const { latest, own, stream } = this;
    const isFree = performance.now() - (latest?.heardAtMs ?? sinceMs) > LEAD_MS;
    if (latest?.node !== own && !isFree) return;
    const last = latest?.sequence ?? (await stream.lastOf(LEAD))?.sequence ?? 0;
    // If another node was faster, its message is heard of soon.
    await stream.publishAfter({ target: LEAD, payload: Buffer.from(own), id }, last, PUBLISH_MS).catch(() => undefined);
  }
}
