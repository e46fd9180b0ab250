// What Linux's scheduler tells of one thread, read often: how long it has run, and how long it stood in line for a core.
// So a wait on a busy machine can be told from one that a program caused. Used by load programs that look for
// standstills.
import { existsSync, openSync, readSync } from 'node:fs';

const TEXT_BYTES_MAX = 64;

export class ThreadClock {
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
