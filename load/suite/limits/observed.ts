// A load again, with the threads of the server sampled meanwhile: who had the processors of the machine, what waited in
// the server's queues and for how long, and its commits. Apart from the measured loads, which no profiler slows. Called
// by limits-part.ts.
import { cpus } from 'node:os';
import type { ThreadUse } from '../../kit/profile/profiled.js';
import { machineCpuMs } from '../../kit/process-cpu.js';
import { withGains, type Gained } from '../../kit/samples.js';
import type { Target } from '../target.js';

export interface Observed {
  /** Of the load. */
  name: string;
  seconds: number;
  cores: number;
  /** Of all that ran on the machine. */
  machineMs: number;
  generatorMs: number;
  /** Of the server. */
  threads: readonly ThreadUse[];
  /** In queues for worker threads, by pool and lane. */
  waits: readonly Times[];
  /** Of transactions with their sync, by store. */
  commits: readonly Times[];
}

/** What has taken some time so often. */
export interface Times {
  name: string;
  count: number;
  seconds: number;
}

/** Requires: the server is the suite's own. */
export async function observed(target: Target, name: string, work: () => Promise<unknown>): Promise<Observed> {
  const timed = () => target.profiled(() => timing(work));
  const { result, gained, samples } = await withGains(target.url, timed, target.headers);
  const names = [...samples.keys()];
  return {
    name,
    ...result.result,
    threads: result.threads,
    waits: timesOf('sheaf_queue_wait_seconds', names, gained),
    commits: timesOf('sheaf_store_commit_seconds', names, gained),
  };
}

export async function timing(
  work: () => Promise<unknown>,
): Promise<Pick<Observed, 'seconds' | 'cores' | 'machineMs' | 'generatorMs'>> {
  const [startedAtMs, machineBefore, cpuBefore] = [performance.now(), machineCpuMs(), process.cpuUsage()];
  await work();
  const { user, system } = process.cpuUsage(cpuBefore);
  return {
    seconds: (performance.now() - startedAtMs) / 1000,
    cores: cpus().length,
    machineMs: machineCpuMs() - machineBefore,
    generatorMs: (user + system) / 1000,
  };
}

/** Of a histogram, those of its labels that have counted something. */
export function timesOf(family: string, names: readonly string[], gained: Gained): Times[] {
  const sums = names.filter((name) => name.startsWith(`${family}_sum{`));
  const all = sums.map((sum) => ({
    name: Array.from(sum.matchAll(/="([^"]*)"/g), ([, value]) => value).join(', '),
    count: gained(sum.replace('_sum{', '_count{')),
    seconds: gained(sum),
  }));
  return all.filter(({ count }) => count > 0);
}
