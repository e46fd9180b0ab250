// How much processor time a process has had: its first thread, on which Node runs the front of the server, and all of its threads. From
// Linux's scheduler, in nanoseconds, so that a scrape can be measured. Used by load programs that compare costs a request.
import { existsSync, readdirSync, readFileSync } from 'node:fs';

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

/** 0 of a thread that has just ended. */
function onCpuMs(task: string): number {
  try {
    return Number(readFileSync(`${task}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
  } catch {
    return 0;
  }
}
