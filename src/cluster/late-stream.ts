// A stream that could not be reached when the node started: the node knows it by its data, serves what it has, and takes
// writes once the stream answers. Runs on the main thread.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../base/log.js';
import type { LogStream, News, Rebuild, StreamMessage, StreamState } from './log-stream.js';

const AGAIN_MS = 1000;
/** What the stream takes is not known yet; it refuses what is too much. */
const PAYLOAD_BYTES_MAX = 8 * 1024 * 1024;

export class LateStream implements LogStream {
  private found: LogStream | undefined;
  private isClosed = false;
  private readonly takers: ((stream: LogStream) => void)[] = [];

  /** `open` connects to the stream, and rejects if that is not possible. */
  constructor(
    readonly id: string,
    open: () => Promise<LogStream>,
    log: Pick<Log, 'info' | 'error'>,
  ) {
    void this.reach(open, log);
  }

  private async reach(open: () => Promise<LogStream>, log: Pick<Log, 'info' | 'error'>): Promise<void> {
    let problem = '';
    while (!this.isClosed) {
      try {
        await this.take(await open());
        return log.info({}, 'the command log answers');
      } catch (error) {
        const { message } = error as Error;
        if (message !== problem) log.error({ reason: message }, 'the command log cannot be reached');
        problem = message;
      }
      await sleep(AGAIN_MS, undefined, { ref: false });
    }
  }

  private async take(found: LogStream): Promise<void> {
    if (this.isClosed) return found.close();
    this.found = found;
    for (const take of this.takers) take(found);
  }

  private get stream(): LogStream {
    if (!this.found) throw new Error('the command log has not answered yet');
    return this.found;
  }

  get isAway(): boolean {
    return this.found === undefined;
  }

  get origin(): string {
    return this.found?.origin ?? '';
  }

  get payloadBytesMax(): number {
    return this.found?.payloadBytesMax ?? PAYLOAD_BYTES_MAX;
  }

  get bytesMax(): number {
    return this.found?.bytesMax ?? Infinity;
  }

  async publish(target: string, payload: Uint8Array, id: string, timeoutMs: number): Promise<number> {
    return this.stream.publish(target, payload, id, timeoutMs);
  }

  async publishAfter(message: Omit<StreamMessage, 'sequence'>, last: number, timeoutMs: number): Promise<number> {
    return this.stream.publishAfter(message, last, timeoutMs);
  }

  async lastOf(target: string): ReturnType<LogStream['lastOf']> {
    return this.stream.lastOf(target);
  }

  async *read(from: number): AsyncGenerator<StreamMessage> {
    yield* this.stream.read(from);
  }

  async state(): Promise<StreamState> {
    return this.stream.state();
  }

  async trim(before: number): Promise<void> {
    await this.stream.trim(before);
  }

  get rebuild(): Rebuild | undefined {
    return this.found?.rebuild;
  }

  async latestRebuild(): Promise<Rebuild | undefined> {
    return this.stream.latestRebuild();
  }

  async announceRebuild(rebuild: Rebuild): Promise<void> {
    await this.stream.announceRebuild(rebuild);
  }

  async publishTo(rebuild: Rebuild, message: StreamMessage, timeoutMs: number): Promise<void> {
    await this.stream.publishTo(rebuild, message, timeoutMs);
  }

  tell(of: News, what: object): void {
    this.found?.tell(of, what);
  }

  onStored(take: (message: StreamMessage) => void): void {
    this.reached((stream) => stream.onStored(take));
  }

  onTold(of: News, take: (what: unknown) => void): void {
    this.reached((stream) => stream.onTold(of, take));
  }

  private reached(take: (stream: LogStream) => void): void {
    if (this.found) take(this.found);
    else this.takers.push(take);
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await this.found?.close();
  }
}
