// What limits a load: of all that it needs, the one that was busiest while it ran (the processors together, one thread,
// the commits of one store, the load generator), and what had the largest share of that. Pure; worded for the report by
// limits-part.ts.
import { told } from '../parts.js';
import type { Observed } from './observed.js';

/** Of the table, and of what the summary takes from it. */
export const LIMITS_TITLE = 'What limits it';

/** Of the time. Of what is busier, more load gets longer queues and hardly more done. */
const FULL = 0.8;

export interface Limit {
  /** What is full, or that nothing is. */
  limit: string;
  /** Of the time, from 0 to 1: of that, else of what was busiest. */
  busy: number;
  share: string;
}

/** Who has had processors: threads of the server by role, the load generator, and whatever else ran on the machine. */
export interface User {
  role: string;
  threads: number;
  cpuMs: number;
  /** Shares of its time. */
  within: readonly (readonly [string, number])[];
}

const GENERATOR = 'load generator';
const OTHERS = 'other processes';

/** The most first. */
export function usersOf({ threads, generatorMs, machineMs }: Observed): User[] {
  const users = [...new Set(threads.map(({ role }) => role))].map((role) =>
    userOf(
      role,
      threads.filter((thread) => thread.role === role),
    ),
  );
  const known = generatorMs + users.reduce((sum, { cpuMs }) => sum + cpuMs, 0);
  const rest = [
    { role: GENERATOR, threads: 1, cpuMs: generatorMs, within: [] },
    { role: OTHERS, threads: 0, cpuMs: Math.max(0, machineMs - known), within: [] },
  ];
  return [...users, ...rest].sort((a, b) => b.cpuMs - a.cpuMs);
}

function userOf(role: string, threads: Observed['threads']): User {
  const cpuMs = threads.reduce((sum, thread) => sum + thread.cpuMs, 0);
  const within = new Map<string, number>();
  for (const thread of threads)
    for (const [label, share] of thread.within)
      within.set(label, (within.get(label) ?? 0) + (share * thread.cpuMs) / Math.max(1, cpuMs));
  return { role, threads: threads.length, cpuMs, within: [...within].sort(([, a], [, b]) => b - a) };
}

export function limitOf(seen: Observed): Limit {
  const [busiest] = resourcesOf(seen).sort((a, b) => b.busy - a.busy) as [Limit];
  return busiest.busy >= FULL ? busiest : { ...busiest, limit: `nothing is full; busiest: ${busiest.limit}` };
}

function resourcesOf(seen: Observed): Limit[] {
  const { seconds, cores, machineMs, threads, commits } = seen;
  const users = usersOf(seen);
  const ofAll = Math.max(
    machineMs,
    users.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
  );
  const processors = {
    limit: 'the processors',
    busy: Math.min(1, ofAll / (1000 * seconds * cores)),
    share: mostOf(users, ofAll),
  };
  const single = threads.map(({ role, cpuMs, within }) => ({
    limit: `one thread, ${role}`,
    busy: cpuMs / (1000 * seconds),
    share: firstOf(within).slice(2),
  }));
  const stores = commits.map(({ name, count, seconds: spent }) => ({
    limit: `commits of ${name}`,
    busy: spent / seconds,
    share: `${told(count / seconds)} a second of ${told((1000 * spent) / count)} ms`,
  }));
  const generator = {
    limit: `one thread, ${GENERATOR}`,
    busy: users.find(({ role }) => role === GENERATOR)!.cpuMs / (1000 * seconds),
    share: '',
  };
  return [processors, ...single, ...stores, generator];
}

/** Behind what is not of the measurement, also who has most of the rest. */
function mostOf(users: readonly User[], ofAll: number): string {
  const told = ({ role, cpuMs, within }: User): string =>
    `${role} ${percent(cpuMs / Math.max(1, ofAll))}${firstOf(within)}`;
  const [most, next] = users as [User, User];
  return most.role === OTHERS ? `${told(most)}, then ${told(next)}` : told(most);
}

const firstOf = ([first]: User['within']): string => (first ? `: ${first[0]} ${percent(first[1])} of it` : '');

export const percent = (share: number): string => `${Math.round(100 * share)} %`;
