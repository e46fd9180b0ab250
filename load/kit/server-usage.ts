// How much processor time a process has had: its first thread, on which Node runs the front of the server, and all of
// its threads. From Linux's scheduler, in nanoseconds, so that a scrape can be measured. Used by load programs that
// compare costs a request.
import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** Linux tells such sums in hundredths of a second. */
const TICK_MS = 10;

export interface CpuMs {
  front: number;
  all: number;
}

/** undefined where the system does not tell. */
export function cpuMs(pid: number): CpuMs | undefined {
  const tasks = `/proc/${pid}/task`;
  if (!existsSync(`${tasks}/${pid}/schedstat`)) return undefined;
  const all = readdirSync(tasks).reduce((sum, task) => sum + onCpuMs(`${tasks}/${task}`), 0);
  return { front: onCpuMs(`${tasks}/${pid}`), all };
}

/** By thread. Empty where the system does not tell. */
export function threadsCpuMs(pid: number): Map<number, number> {
  const tasks = `/proc/${pid}/task`;
  return new Map(
    (existsSync(tasks) ? readdirSync(tasks) : []).map((task) => [Number(task), onCpuMs(`${tasks}/${task}`)]),
  );
}

/** Of all that run on this machine, and of what its host has taken from it. */
export function machineCpuMs(): number {
  const [, user, nice, system, , , irq, softirq, steal] = (readFileSync('/proc/stat', 'utf8').split('\n')[0] as string)
    .split(/\s+/)
    .map(Number) as [number, ...number[]];
  return [user, nice, system, irq, softirq, steal].reduce<number>((sum, ticks) => sum + (ticks ?? 0) * TICK_MS, 0);
}

/** 0 of a thread that has just ended. */
function onCpuMs(task: string): number {
  try {
    return Number(readFileSync(`${task}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
  } catch {
    return 0;
  }
}
