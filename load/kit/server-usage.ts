// Resource usage: CPU time and memory of a process from Linux, and counters of a server from /metrics.
import { existsSync, readFileSync, readdirSync } from 'node:fs';

/** The resolution of Linux's sums: hundredths of a second. */
const TICK_MS = 10;

export interface CpuMs {
  front: number;
  all: number;
}

/**
 * CPU time of the main thread and of all threads, from the scheduler with a resolution of nanoseconds, so that a
 * scrape can be measured. Undefined if the system has no such statistics.
 */
export function cpuMs(pid: number): CpuMs | undefined {
  const tasks = `/proc/${pid}/task`;
  if (!existsSync(`${tasks}/${pid}/schedstat`)) return undefined;
  const all = readdirSync(tasks).reduce((sum, task) => sum + onCpuMs(`${tasks}/${task}`), 0);
  return { front: onCpuMs(`${tasks}/${pid}`), all };
}

/** CPU time by thread. Empty if the system has no such statistics. */
export function threadsCpuMs(pid: number): Map<number, number> {
  const tasks = `/proc/${pid}/task`;
  return new Map(
    (existsSync(tasks) ? readdirSync(tasks) : []).map((task) => [Number(task), onCpuMs(`${tasks}/${task}`)]),
  );
}

/** CPU time of everything that runs on this machine, including time stolen by its host. */
export function machineCpuMs(): number {
  const [, user, nice, system, , , irq, softirq, steal] = (readFileSync('/proc/stat', 'utf8').split('\n')[0] as string)
    .split(/\s+/)
    .map(Number) as [number, ...number[]];
  return [user, nice, system, irq, softirq, steal].reduce<number>((sum, ticks) => sum + (ticks ?? 0) * TICK_MS, 0);
}

/** CPU time of a thread; 0 if it has just ended. */
function onCpuMs(task: string): number {
  try {
    return Number(readFileSync(`${task}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
  } catch {
    return 0;
  }
}

/** CPU time of this process in ms, which excludes other work on the machine. */
export function ownCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Questions per second of this process's CPU time: the median of five rounds. */
export function questionRate(count: number, ask: () => void): number {
  const rounds = Array.from({ length: 5 }, () => {
    const startedAt = ownCpuMs();
    ask();
    return ownCpuMs() - startedAt;
  });
  return (count / (rounds.sort((a, b) => a - b)[2] as number)) * 1000;
}

type Headers = Readonly<Record<string, string>>;

/** The values of /metrics by name and labels. */
async function readSamples(url: string, headers: Headers = {}): Promise<Map<string, number>> {
  const response = await fetch(`${url}/metrics`, { headers });
  if (!response.ok) throw new Error(`GET /metrics: ${response.status}`);
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}

/** CPU time of the server's process so far. */
export const cpuSeconds = async (url: string, headers?: Headers): Promise<number> =>
  (await readSamples(url, headers)).get('process_cpu_seconds_total') ?? NaN;

/** The increase of a metric while `work` ran. */
export type Gained = (name: string) => number;

/** Runs `work` and passes on how much each metric increased; `samples` has the values afterwards. */
export async function withGains<T>(
  url: string,
  work: () => Promise<T>,
  headers?: Headers,
): Promise<{ result: T; gained: Gained; samples: ReadonlyMap<string, number> }> {
  const before = await readSamples(url, headers);
  const result = await work();
  const samples = await readSamples(url, headers);
  return { result, samples, gained: (name) => (samples.get(name) ?? 0) - (before.get(name) ?? 0) };
}

/**
 * Private memory of a process: neither mapped files nor code, which the system can reclaim at any time. 0 if the
 * process has ended.
 */
export function privateBytes(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const kilobytes = (field: string): number => Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1] ?? 0);
    return (kilobytes('RssAnon') + kilobytes('RssShmem')) * 1024;
  } catch {
    return 0;
  }
}
