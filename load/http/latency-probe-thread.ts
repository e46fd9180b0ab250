// A thread that requests /health/live without a pause and reports the longest waits since the last report.
import { once } from 'node:events';
import { existsSync, openSync, readSync } from 'node:fs';
import { type Socket, connect } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

const HEAD_END = '\r\n\r\n';

/** One connection that repeats a request with minimal work of its own. */
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

  /** Resolves when the whole answer has arrived. */
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
 * Scheduler statistics of one thread on Linux, read often: time running, and time waiting for a core. They distinguish
 * a busy machine from a slow program.
 */
class ThreadClock {
  private readonly text = Buffer.alloc(TEXT_BYTES_MAX);
  /** As of the last `read`. */
  ranMs = 0;
  inLineMs = 0;

  private constructor(private readonly file: number) {}

  /** The main thread of a server. Undefined if the system has no such statistics. */
  static ofMain(pid: number): ThreadClock | undefined {
    return ThreadClock.open(`/proc/${pid}/task/${pid}/schedstat`);
  }

  static ofThisThread(): ThreadClock | undefined {
    return ThreadClock.open('/proc/thread-self/schedstat');
  }

  /** Running time is counted up to the scheduler's last tick. */
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

/** The longest waits of a period in ms; the last two only if the system reports them. */
export interface Waits {
  longest: number;
  /** Minus the time in which the main thread or the probe waited for a core. */
  held?: number;
  /** The most CPU time of the main thread within one wait. */
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
    this.front = pid === undefined ? undefined : ThreadClock.ofMain(pid);
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
