// What limits the loads of a workload: each again for a few seconds, sampled, and the tables that say who had the
// processors, what waited, and which of all that was full. Called by run-workload.ts, behind what is measured.
import { besideOne } from '../beside-part.js';
import { fillOne, type Filled } from '../fill.js';
import type { Pace } from '../fit.js';
import type { Say } from '../load-part.js';
import { closedLoop, scheduled } from '../loops.js';
import { NOTHING, told, type Part } from '../parts.js';
import type { Chart, Table } from '../report.js';
import type { Target } from '../target.js';
import type { Asked } from '../traffic.js';
import type { Fill, Workload } from '../workload.js';
import { limitOf, LIMITS_TITLE, percent, usersOf } from './limit.js';
import { observed, timing, type Observed } from './observed.js';

/** Of what is filled again. */
const DOCUMENTS_MAX = 5000;
const FUNCTIONS = 3;
/** Smaller ones are left out. */
const SHARE_MIN = 0.02;

export interface Measured {
  readonly asked: readonly Asked[];
  readonly filled: readonly Filled[];
  /** Of the open loop. */
  readonly rate: number | undefined;
}

/** Nothing of a server that is not the suite's own: its threads are not to be seen. */
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
            closedLoop(target, asked, closed.connections, seconds),
          ),
        ]
      : []),
    ...(rate === undefined || closed ? [] : [load(`${told(rate)} requests a second`, loop)]),
    ...(rate === undefined
      ? []
      : beside.map((one) => load(`beside ${one.name}`, () => besideOne(target, one, filled, seconds, loop)))),
  ];
}

/** What a workload without traffic fills, under other names. */
export const againOf = ({ traffic, fill }: Workload): Fill[] =>
  traffic
    ? []
    : fill.map((one) => ({ ...one, name: `${one.name}-again`, documents: Math.min(one.documents, DOCUMENTS_MAX) }));

/** From the new process until it is ready; its metrics begin with it. */
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
