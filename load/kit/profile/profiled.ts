// Samples the threads of a server that was started with a profile folder (../server.ts) during some work, and reports
// the CPU time of each of its threads.
import { readFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { threadsCpuMs } from '../server-usage.js';
import type { ThreadProfile } from './self-times.js';

export interface ThreadUse {
  /** `front`, the folder of the worker's program, or one of Node's own kinds of threads. */
  role: string;
  cpuMs: number;
  /** Shares of the busy samples by function, largest first; empty for a thread without JavaScript. */
  within: readonly (readonly [string, number])[];
}

/**
 * The number of threads that Node starts first: those that compile and collect garbage for V8 (`--v8-pool-size`), and
 * its timer thread.
 */
const V8_THREADS = 5;
const STEP_MS = 50;
/** A thread that does not answer the signal within this many steps is left out. */
const ANSWER_STEPS_MAX = 600;

export async function profiled<T>(
  pid: number,
  folder: string,
  work: () => Promise<T>,
): Promise<{ result: T; threads: ThreadUse[] }> {
  for (const kind of ['begun', 'json']) for (const tid of tidsOf(folder, kind)) rmSync(join(folder, `${tid}.${kind}`));
  process.kill(pid, 'SIGUSR2');
  await until(() => {
    const [living, begun] = [threadsCpuMs(pid), new Set(tidsOf(folder, 'begun'))];
    return tidsOf(folder, 'thread').every((tid) => begun.has(tid) || !living.has(tid));
  });
  const before = threadsCpuMs(pid);
  const result = await work();
  return { result, threads: await endProfile(pid, folder, before) };
}

/** Ends the profile of a server that was sampled from its start. */
export async function endProfile(
  pid: number,
  folder: string,
  before: ReadonlyMap<number, number> = new Map(),
): Promise<ThreadUse[]> {
  const after = threadsCpuMs(pid);
  process.kill(pid, 'SIGUSR2');
  await until(() => tidsOf(folder, 'json').length >= tidsOf(folder, 'begun').length);
  const profiles = tidsOf(folder, 'json').map(
    (tid) => JSON.parse(readFileSync(join(folder, `${tid}.json`), 'utf8')) as ThreadProfile,
  );
  const known = new Map(profiles.map((profile) => [profile.tid, profile]));
  const others = [...after.keys()].filter((tid) => !known.has(tid) && tid !== pid).sort((a, b) => a - b);
  return [...after].map(([tid, cpuMs]) => ({
    ...useOf(known.get(tid), others.indexOf(tid)),
    cpuMs: Math.max(0, cpuMs - (before.get(tid) ?? 0)),
  }));
}

function useOf(profile: ThreadProfile | undefined, place: number): Omit<ThreadUse, 'cpuMs'> {
  if (!profile)
    return {
      role: place < 0 ? 'front' : place < V8_THREADS ? 'V8: compiling, collecting' : 'libuv and libraries',
      within: [],
    };
  const atWork = Math.max(1, profile.samples - profile.idle);
  return { role: profile.role, within: profile.within.map(([label, samples]) => [label, samples / atWork]) };
}

/** The threads that have written a file of this kind. */
const tidsOf = (folder: string, kind: string): number[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith(`.${kind}`))
    .map((name) => Number.parseInt(name));

async function until(holds: () => boolean): Promise<void> {
  for (let steps = 0; steps < ANSWER_STEPS_MAX && !holds(); steps++) await sleep(STEP_MS);
}

// Options to start a server whose threads can be sampled: each imports a sampling module first.

export interface Profiling {
  /** The folder for the samples of its threads. */
  folder: string;
  /** Starts sampling with the process. */
  fromStart?: boolean;
}

const THREAD = new URL('./thread.js', import.meta.url);

/** Arguments for Node, which worker threads inherit. */
export function samplerArguments(profiling: Profiling | undefined): string[] {
  return profiling
    ? [
        '--import',
        `${THREAD.href}?folder=${encodeURIComponent(profiling.folder)}${profiling.fromStart ? '&from_start' : ''}`,
      ]
    : [];
}
