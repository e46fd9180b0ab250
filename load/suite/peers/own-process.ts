// A server that this process has started, with whatever it has started in turn: what it costs, and how it is held still
// while another is measured. Linux's /proc tells. Used by load/suite/peers/.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { cpuMs } from '../../kit/process-cpu.js';

const KB_PER_MB = 1024;

export interface MemoryMb {
  /** With the pages of files that it has mapped. */
  readonly resident: number;
  /** Its own. */
  readonly anonymous: number;
}

export class OwnProcess {
  constructor(readonly pid: number) {}

  /** Of all threads of all processes since they began. */
  cpuMs(): number {
    return treeOf(this.pid).reduce((sum, pid) => sum + (cpuMs(pid)?.all ?? 0), 0);
  }

  memory(): MemoryMb {
    const rollups = treeOf(this.pid).map(rollupOf);
    const total = (names: readonly string[]): number =>
      rollups.reduce((sum, rollup) => sum + names.reduce((own, name) => own + kilobytes(rollup, name), 0), 0) /
      KB_PER_MB;
    // Memory that threads share counts as anonymous, whether it belongs to a file system or not.
    return { resident: total(['Pss']), anonymous: total(['Pss_Anon', 'Pss_Shmem']) };
  }

  /** It takes no processor time until it is resumed. */
  pause(): void {
    this.signal('SIGSTOP');
  }

  resume(): void {
    this.signal('SIGCONT');
  }

  kill(): void {
    this.signal('SIGKILL');
  }

  private signal(signal: NodeJS.Signals): void {
    for (const pid of treeOf(this.pid)) {
      try {
        process.kill(pid, signal);
      } catch {
        // It has just ended.
      }
    }
  }
}

/** A process and its descendants; none where it has ended. */
function treeOf(pid: number): number[] {
  const tasks = `/proc/${pid}/task`;
  if (!existsSync(tasks)) return [];
  const children = readdirSync(tasks).flatMap((task) =>
    read(`${tasks}/${task}/children`).split(' ').filter(Boolean).map(Number),
  );
  return [pid, ...children.flatMap(treeOf)];
}

const rollupOf = (pid: number): string => read(`/proc/${pid}/smaps_rollup`);
const kilobytes = (rollup: string, name: string): number =>
  Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(rollup)?.[1] ?? 0);

/** '' where it has ended, or the kernel does not tell. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
