// Bottlenecks of a workload's loads: each runs again for a few seconds while sampled, and tables show the users of the
// CPU, waits, and what was saturated.
import { cpus } from 'node:os';
import type { Chart } from '../kit/charts.js';
import type { ThreadUse } from '../kit/profile/profiled.js';
import { type Gained, machineCpuMs, withGains } from '../kit/server-usage.js';
import { besideOne } from './beside-part.js';
import { type Filled, fillOne } from './fill.js';
import type { Say } from './load-part.js';
import { type Asked, saturated, scheduled } from './loops.js';
import { NOTHING, type Part, type Table, told } from './report.js';
import type { Target } from './target.js';
import type { Fill, Pace, Workload } from './workload.js';

export interface Observed {
  /** Name of the load. */
  name: string;
  seconds: number;
  cores: number;
  /** CPU time of everything that ran on the machine. */
  machineMs: number;
  generatorMs: number;
  /** CPU time of the server's threads. */
  threads: readonly ThreadUse[];
  /** Waits in queues for worker threads, by pool and queue. */
  waits: readonly Times[];
  /** Transactions with their sync, by store. */
  commits: readonly Times[];
}

/** A count of events, and the time that they took. */
interface Times {
  name: string;
  count: number;
  seconds: number;
}

/**
 * Runs a load again while sampling the server's threads: users of the CPU, waits in its queues, and its commits.
 * Separate from the measured loads, which no profiler slows. Requires a server of the suite.
 */
async function observed(target: Target, name: string, work: () => Promise<unknown>): Promise<Observed> {
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

async function timing(
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

/** Counts and times of a histogram's labels that increased. */
export function timesOf(family: string, names: readonly string[], gained: Gained): Times[] {
  const sums = names.filter((name) => name.startsWith(`${family}_sum{`));
  const all = sums.map((sum) => ({
    name: Array.from(sum.matchAll(/(\w+)="([^"]*)"/g))
      .filter(([, label]) => label !== 'lane') // The earlier name of the label `queue`.
      .map(([, , value]) => value)
      .join(', '),
    count: gained(sum.replace('_sum{', '_count{')),
    seconds: gained(sum),
  }));
  return all.filter(({ count }) => count > 0);
}

// The bottleneck of a load: the busiest of what it needs (all CPUs, one thread, the commits of one store, the load
// generator), and its largest user.

/** Title of the table, and of its row in the summary. */
export const LIMITS_TITLE = 'What limits it';

/**
 * The share of time from which a resource counts as saturated: beyond it, more load makes queues longer and adds little
 * throughput.
 */
const FULL = 0.8;

interface Limit {
  /** The saturated resource, or that there is none. */
  limit: string;
  /** Busy share of the time, from 0 to 1, of the saturated resource, or else of the busiest one. */
  busy: number;
  share: string;
}

/** Users of the CPU: threads of the server by role, the load generator, and everything else on the machine. */
interface User {
  role: string;
  threads: number;
  cpuMs: number;
  /** Shares of its time by function. */
  within: readonly (readonly [string, number])[];
}

const GENERATOR = 'load generator';
const OTHERS = 'other processes';

/** All users of the CPU, the largest first. */
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

/** The largest user; where that is not part of the measurement, also the largest one that is. */
function mostOf(users: readonly User[], ofAll: number): string {
  const told = ({ role, cpuMs, within }: User): string =>
    `${role} ${percent(cpuMs / Math.max(1, ofAll))}${firstOf(within)}`;
  const [most, next] = users as [User, User];
  return most.role === OTHERS ? `${told(most)}, then ${told(next)}` : told(most);
}

const firstOf = ([first]: User['within']): string => (first ? `: ${first[0]} ${percent(first[1])} of it` : '');

const percent = (share: number): string => `${Math.round(100 * share)} %`;

/** At most this many documents are filled again. */
const DOCUMENTS_MAX = 5000;
const FUNCTIONS = 3;
/** Users with a smaller share are left out. */
const SHARE_MIN = 0.02;

interface Measured {
  readonly asked: readonly Asked[];
  readonly filled: readonly Filled[];
  /** Rate of the open loop. */
  readonly rate: number | undefined;
}

/** Empty for an external server, whose threads cannot be observed. */
export async function limitsPart(
  target: Target,
  workload: Workload,
  measured: Measured,
  { sampledLoadsMax, sampledSeconds }: Pace,
  say: Say,
): Promise<Part> {
  if (!target.isOwn) return NOTHING;
  say('what limits it: the loads again, sampled');
  const all: Observed[] = [];
  for (const observe of loadsOf(target, workload, measured, sampledSeconds).slice(0, sampledLoadsMax))
    all.push(await observe());
  if (workload.restart) all.push(await start(target));
  return all.length === 0
    ? NOTHING
    : { figures: [], tables: [limitTable(all), userTable(all), ...waitTables(all)], charts: [userChart(all)] };
}

function loadsOf(
  target: Target,
  workload: Workload,
  { asked, filled, rate }: Measured,
  seconds: number,
): (() => Promise<Observed>)[] {
  const { closed_loop: closed, beside = [] } = workload;
  const load = (name: string, work: () => Promise<unknown>) => () => observed(target, name, work);
  const fills = againOf(workload).map((fill) => load(`filling ${fill.of}`, () => fillOne(target, workload.name, fill)));
  const loop = () => scheduled(target, asked, rate ?? 0, seconds);
  return [
    ...fills,
    ...(closed
      ? [
          load(`closed loop, ${closed.connections} connections`, () =>
            saturated(target, asked, closed.connections, seconds),
          ),
        ]
      : []),
    ...(rate === undefined || closed ? [] : [load(`${told(rate)} requests a second`, loop)]),
    ...(rate === undefined
      ? []
      : beside.map((one) => load(`beside ${one.name}`, () => besideOne(target, one, filled, seconds, loop)))),
  ];
}

/** The fills of a workload without traffic, under other names. */
export const againOf = ({ traffic, fill }: Workload): Fill[] =>
  traffic
    ? []
    : fill.map((one) => ({ ...one, name: `${one.name}-again`, documents: Math.min(one.documents, DOCUMENTS_MAX) }));

/** Observes a start, from the new process until it is ready; the metrics of the process begin with it. */
async function start(target: Target): Promise<Observed> {
  let readySeconds = 0;
  const { seconds: _, ...spent } = await timing(async () => ({ readySeconds } = await target.restart('SIGKILL', true)));
  return {
    name: 'start after kill -9',
    ...spent,
    seconds: readySeconds,
    threads: await target.sinceStart(),
    waits: [],
    commits: [],
  };
}

function limitTable(all: readonly Observed[]): Table {
  const rows = all.map((seen) => {
    const { limit, busy, share } = limitOf(seen);
    return [seen.name, limit, percent(busy), share];
  });
  return { title: LIMITS_TITLE, columns: ['load', 'limit', 'busy', 'largest share'], rows };
}

function userTable(all: readonly Observed[]): Table {
  const rows = all.flatMap((seen) => {
    const users = usersOf(seen);
    const total = users.reduce((sum, { cpuMs }) => sum + cpuMs, 0);
    const shown = users.filter(({ cpuMs }) => cpuMs / total >= SHARE_MIN);
    return shown.map(({ role, threads, cpuMs, within }) => {
      const most = within
        .slice(0, FUNCTIONS)
        .filter(([, share]) => share >= SHARE_MIN)
        .map(([label, share]) => `${label} ${percent(share)}`);
      return [
        seen.name,
        role,
        threads > 0 ? String(threads) : '',
        told(cpuMs / 1000 / seen.seconds),
        percent(cpuMs / total),
        most.join(', '),
      ];
    });
  });
  return {
    title: 'Who has the processors',
    columns: ['load', 'threads', 'how many', 'cores', 'share', 'most of it in'],
    rows,
  };
}

function waitTables(all: readonly Observed[]): Table[] {
  const rows = all.flatMap(({ name, seconds, waits, commits }) => {
    const row = (what: string, { count, seconds: spent }: Observed['waits'][number]): string[] => [
      name,
      what,
      told(count / seconds),
      told((1000 * spent) / count),
      told(spent / seconds),
    ];
    return [
      ...waits.map((one) => row(`queue of ${one.name}`, one)),
      ...commits.map((one) => row(`commit and sync of ${one.name}`, one)),
    ];
  });
  return rows.length === 0
    ? []
    : [
        {
          title: 'What is waited for',
          columns: ['load', 'wait', 'times a second', 'mean ms', 'at a time, on average'],
          rows,
        },
      ];
}

function userChart(all: readonly Observed[]): Chart {
  const points = (seen: Observed): Chart['series'][number]['points'] =>
    usersOf(seen).map(({ role, cpuMs }) => ({ x: role, y: cpuMs / 1000 / seen.seconds }));
  const roles = [...new Set(all.flatMap((seen) => usersOf(seen).map(({ role }) => role)))];
  return {
    title: 'Who has the processors',
    kind: 'bar',
    x: 'threads',
    y: 'cores',
    series: all.map((seen) => ({
      name: seen.name,
      points: roles.map((x) => points(seen).find((point) => point.x === x) ?? { x, y: 0 }),
    })),
  };
}
