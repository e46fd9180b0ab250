// A thread that asks for /health/live without a pause, and tells the longest waits since it was asked last: what holds
// the server up.
import { once } from 'node:events';
import { existsSync, openSync, readSync } from 'node:fs';
import { type Socket, connect } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

const HEAD_END = '\r\n\r\n';

/** One connection that asks for an address again and again, with as little work of its own as can be. */
class RawProbe {
  private received = '';
  private answered: () => void = () => undefined;

  private constructor(
    private readonly socket: Socket,
    private readonly host: string,
  ) {
    socket.setNoDelay(true).setEncoding('latin1');
    socket.on('data', (text: string) => {
      this.received += text;
      if (this.isWhole()) this.answered();
    });
  }

  static async open(url: string): Promise<RawProbe> {
    const { hostname, port, host } = new URL(url);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    return new RawProbe(socket, host);
  }

  /** Resolves when the answer is here in full. */
  ask(path: string): Promise<void> {
    this.received = '';
    this.socket.write(`GET ${path} HTTP/1.1\r\nHost: ${this.host}\r\n\r\n`);
    return new Promise((resolve) => (this.answered = resolve));
  }

  private isWhole(): boolean {
    const end = this.received.indexOf(HEAD_END);
    const length = Number(/content-length: (\d+)/i.exec(this.received)?.[1]);
    return end >= 0 && this.received.length >= end + HEAD_END.length + length;
  }
}

const TEXT_BYTES_MAX = 64;

/**
 * What Linux's scheduler tells of one thread, read often: how long it has run, and how long it stood in line for a core.
 * So a wait on a busy machine can be told from one that a program caused.
 */
class ThreadClock {
  private readonly text = Buffer.alloc(TEXT_BYTES_MAX);
  /** Both as of the last `read`. */
  ranMs = 0;
  inLineMs = 0;

  private constructor(private readonly file: number) {}

  /** The thread on which Node runs the front of the server. Undefined where the system does not tell. */
  static ofFront(pid: number): ThreadClock | undefined {
    return ThreadClock.open(`/proc/${pid}/task/${pid}/schedstat`);
  }

  static ofThisThread(): ThreadClock | undefined {
    return ThreadClock.open('/proc/thread-self/schedstat');
  }

  /** What runs at this moment is counted up to the scheduler's last tick. */
  read(): void {
    const length = readSync(this.file, this.text, 0, TEXT_BYTES_MAX, 0);
    const [ran, inLine] = this.text.toString('latin1', 0, length).split(' ');
    this.ranMs = Number(ran) / 1e6;
    this.inLineMs = Number(inLine) / 1e6;
  }

  private static open(path: string): ThreadClock | undefined {
    return existsSync(path) ? new ThreadClock(openSync(path, 'r')) : undefined;
  }
}

/** The longest waits of a span of time, in milliseconds; the last two only where the system tells. */
export interface Waits {
  longest: number;
  /** Less the time in which the front thread, or the one that asks, stood in line for a core. */
  held?: number;
  /** The most that the front thread worked within one wait. */
  worked?: number;
}

export interface ProbeStart {
  url: string;
  pid: number | undefined;
}

class WaitMeter {
  private readonly front: ThreadClock | undefined;
  private readonly own = ThreadClock.ofThisThread();
  private waits: Waits = { longest: 0 };
  private startedAtMs = 0;

  constructor(pid: number | undefined) {
    this.front = pid === undefined ? undefined : ThreadClock.ofFront(pid);
  }

  begin(): void {
    this.front?.read();
    this.own?.read();
    this.startedAtMs = performance.now();
  }

  end(): void {
    const { front, own, waits } = this;
    const waitedMs = performance.now() - this.startedAtMs;
    waits.longest = Math.max(waits.longest, waitedMs);
    if (!front || !own) return;
    const [ranMs, inLineMs] = [front.ranMs, front.inLineMs + own.inLineMs];
    front.read();
    own.read();
    const heldMs = waitedMs - (front.inLineMs + own.inLineMs - inLineMs);
    waits.held = Math.max(waits.held ?? 0, heldMs);
    waits.worked = Math.max(waits.worked ?? 0, Math.min(waitedMs, front.ranMs - ranMs));
  }

  take(): Waits {
    const { waits } = this;
    this.waits = { longest: 0 };
    return waits;
  }
}

const { url, pid } = workerData as ProbeStart;
const client = await RawProbe.open(url);
const meter = new WaitMeter(pid);
parentPort?.on('message', () => parentPort?.postMessage(meter.take()));
for (;;) {
  meter.begin();
  await client.ask('/health/live');
  meter.end();
}
