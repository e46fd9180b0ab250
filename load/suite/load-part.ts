// The measured parts of a workload: its loads in a closed and an open loop with their figures (throughput, latencies,
// cost per request and its parts); restarts; recall; and the first request.
import type { Chart } from '../kit/charts.js';
import { HttpSender } from '../kit/open-loop.js';
import { type Filled, cores } from './fill.js';
import { type Asked, type Loaded, saturated, scheduled } from './loops.js';
import {
  type Figure,
  LATENCY_COLUMNS,
  NOTHING,
  type Part,
  type Table,
  latencyCells,
  latencyChart,
  latencyFigures,
  told,
} from './report.js';
import { type Spent, type Target, spending } from './target.js';
import type { Workload } from './workload.js';

export interface Load {
  /** Such as 'at 50 %'; part of the figures' names. */
  when: string;
  /** Name of the loop in tables. */
  name: string;
  loaded: Loaded;
  seconds: number;
  spent: Spent | undefined;
  isOpen: boolean;
  rate?: number;
}

export type Say = (line: string) => void;

/** Runs the closed loop first, because shares refer to its throughput. */
export async function runLoads(
  target: Target,
  { closed_loop: closed, open_loop: open }: Workload,
  asked: readonly Asked[],
  say: Say,
): Promise<Load[]> {
  const loads: Load[] = [];
  if (closed) {
    const { connections, seconds, warm_up_seconds: warmUpSeconds = 0 } = closed;
    if (warmUpSeconds > 0) await saturated(target, asked, connections, warmUpSeconds);
    say(`as fast as ${connections} connections carry, ${seconds} s`);
    const { result: loaded, ...spent } = await spending(target, 'search', () =>
      saturated(target, asked, connections, seconds),
    );
    loads.push({
      when: 'closed loop',
      name: `closed loop, ${connections} connections`,
      loaded,
      isOpen: false,
      ...spent,
    });
  }
  const reached = loads[0]?.loaded.perSecond ?? 0;
  const rates = [
    ...(open?.rates ?? []).map((rate) => ({ rate, when: `at ${told(rate)}/s` })),
    ...(open?.shares ?? []).map((share) => ({ rate: Math.max(1, share * reached), when: `at ${told(100 * share)} %` })),
  ];
  for (const { rate, when } of rates) {
    say(`${told(rate)} requests a second on schedule, ${open!.seconds} s`);
    const { result: loaded, ...spent } = await spending(target, 'search', () =>
      scheduled(target, asked, rate, open!.seconds),
    );
    loads.push({
      when,
      name: when.endsWith('%') ? `open loop ${when}, ${told(rate)}/s` : `open loop ${when}`,
      loaded,
      rate,
      isOpen: true,
      ...spent,
    });
  }
  return loads;
}

export function loadPart(loads: readonly Load[]): Part {
  if (loads.length === 0) return NOTHING;
  return {
    figures: loads.flatMap(figuresOf),
    tables: [latencyTable(loads), ...kindTables(loads), costTable(loads), ...phaseTables(loads)],
    charts: [...latencyCharts(loads), ...phaseCharts(loads)],
  };
}

function figuresOf({ when, loaded, spent, isOpen }: Load): Figure[] {
  const { requests, failed, perSecond } = loaded;
  const costs: Figure[] =
    spent === undefined
      ? []
      : [
          { name: 'server CPU a request', value: spent.serverCpuMs / requests, unit: 'ms', better: 'lower' },
          { name: 'server memory', value: spent.serverMemoryBytes / 1e6, unit: 'MB', better: 'lower' },
        ];
  return [
    ...(isOpen ? [] : [{ name: 'throughput', value: perSecond, unit: '1/s', better: 'higher' } as const, ...costs]),
    { name: `failed ${when}`, value: failed, unit: '', better: 'lower' },
    ...latencyFigures(loaded, when),
  ];
}

function latencyTable(loads: readonly Load[]): Table {
  const rows = loads.map(({ name, loaded }) => [
    name,
    told(loaded.perSecond),
    ...latencyCells(loaded),
    told(loaded.failed),
  ]);
  return {
    title: 'Throughput, and latency as the client sees it',
    columns: ['load', 'answers/s', ...LATENCY_COLUMNS, 'failed'],
    rows,
  };
}

function kindTables(loads: readonly Load[]): Table[] {
  return loads
    .filter(({ loaded }) => loaded.byKind.size > 1)
    .map(({ when, loaded }) => {
      const rows = [...loaded.byKind].map(([name, latencies]) => [
        name,
        told(latencies.requests),
        ...latencyCells(latencies),
      ]);
      return { title: `By request, ${when}`, columns: ['request', 'answers', ...LATENCY_COLUMNS], rows };
    });
}

function costTable(loads: readonly Load[]): Table {
  const rows = loads.map(({ name, loaded, spent, seconds }) => {
    const each = (ms: number | undefined): string => told(ms === undefined ? undefined : ms / loaded.requests);
    return [
      name,
      each(spent?.serverCpuMs),
      each(spent?.loadCpuMs),
      told(cores(spent?.serverCpuMs, seconds)),
      told(cores(spent?.loadCpuMs, seconds)),
      told(spent && spent.serverMemoryBytes / 1e6),
    ];
  });
  return {
    title: 'What a request costs',
    columns: ['load', 'server CPU ms', 'generator CPU ms', 'server cores busy', 'generator cores busy', 'server MB'],
    rows,
  };
}

const phaseNames = (loads: readonly Load[]): string[] => [
  ...new Set(loads.flatMap(({ spent }) => spent?.phases.map(({ name }) => name) ?? [])),
];
const phaseOf = ({ spent }: Load, phase: string): number =>
  spent?.phases.find(({ name }) => name === phase)?.meanMs ?? 0;

function phaseTables(loads: readonly Load[]): Table[] {
  const phases = phaseNames(loads);
  if (phases.length === 0) return [];
  const client = ({ loaded }: Load): number =>
    [...loaded.byKind].find(([name]) => name === 'search')?.[1].meanMs ?? loaded.meanMs;
  const rows = loads.map((load) => [
    load.name,
    told(client(load)),
    told(load.spent?.httpMs),
    told(load.spent?.wholeMs),
    ...phases.map((phase) => told(phaseOf(load, phase))),
  ]);
  return [
    {
      title: 'Where the time of a search goes: mean ms, at the client and in the server',
      columns: ['load', 'client', 'whole request', 'whole search', ...phases],
      rows,
    },
  ];
}

function latencyCharts(loads: readonly Load[]): Chart[] {
  const open = loads.filter(({ isOpen }) => isOpen);
  return [
    latencyChart(
      'Latency',
      (open.length > 0 ? open : loads).map(({ name, loaded }) => ({ name, latencies: loaded })),
    ),
  ];
}

function phaseCharts(loads: readonly Load[]): Chart[] {
  const phases = phaseNames(loads);
  if (phases.length === 0) return [];
  return [
    {
      title: 'Where the time of a search goes',
      kind: 'bar',
      x: 'phase',
      y: 'mean ms',
      series: loads.map((load) => ({ name: load.name, points: phases.map((x) => ({ x, y: phaseOf(load, x) })) })),
    },
  ];
}

const TENTH = 10;

interface Restarted {
  name: string;
  stopSeconds: number;
  readySeconds: number;
  /** Time of the first request after the server is ready, and of the tenth. */
  firstMs: number;
  tenthMs: number;
}

/**
 * Time until the suite's own server is ready again after SIGTERM and after kill -9, and times of the first requests
 * then.
 */
export async function restartPart(target: Target, asked: readonly Asked[], say: Say): Promise<Part> {
  const all: Restarted[] = [];
  for (const [signal, name] of [
    ['SIGTERM', 'SIGTERM'],
    ['SIGKILL', 'kill -9'],
  ] as const) {
    say(`restart after ${name}`);
    const times = await target.restart(signal);
    all.push({ name, ...times, ...(await firstAnswers(target, asked)) });
  }
  const first = asked[0]?.name ?? 'request';
  const tenth = asked[(TENTH - 1) % asked.length]?.name ?? 'request';
  const lower = (name: string, value: number, unit: string): Figure => ({ name, value, unit, better: 'lower' });
  return {
    figures: all.flatMap(({ name, readySeconds, firstMs }) => [
      lower(`ready after ${name}`, readySeconds, 's'),
      lower(`first ${first} after ${name}`, firstMs, 'ms'),
    ]),
    tables: [
      {
        title: 'Restart',
        columns: ['after', 'ended in s', 'ready in s', `first ${first} ms`, `tenth ${tenth} ms`],
        rows: all.map(({ name, stopSeconds, readySeconds, firstMs, tenthMs }) => [
          name,
          ...[stopSeconds, readySeconds, firstMs, tenthMs].map(told),
        ]),
      },
    ],
    charts: [
      {
        title: 'Ready again',
        kind: 'bar',
        x: 'after',
        y: 's',
        series: [{ name: 'ready', points: all.map(({ name, readySeconds }) => ({ x: name, y: readySeconds })) }],
      },
    ],
  };
}

/**
 * Times of the first requests, sent in sequence. As in the loops, only 2xx answers count; others have no time to
 * report.
 */
async function firstAnswers(target: Target, asked: readonly Asked[]): Promise<{ firstMs: number; tenthMs: number }> {
  const sender = new HttpSender(target.url);
  const times: number[] = [];
  for (let n = 0; n < TENTH && asked.length > 0; n++) {
    const request = asked[n % asked.length] as Asked;
    const startedAtMs = performance.now();
    const status = await sender.send(request);
    if (status < 200 || status > 299) throw new Error(`after a restart ${request.name} was answered ${status}`);
    times.push(performance.now() - startedAtMs);
  }
  sender.close();
  return { firstMs: times[0] ?? NaN, tenthMs: times[TENTH - 1] ?? NaN };
}

/** Recall of a workload's searches: each is repeated with `exact`, which compares with every vector. */
export async function recallPart(
  target: Target,
  filled: readonly Filled[],
  { queries, k }: { queries: number; k: number },
): Promise<Part> {
  const { source, collections } = filled.find(({ fill }) => fill.of === 'vectors')!;
  const { tenant, name } = collections[0]!;
  const ids = async (n: number, exact: boolean): Promise<string[]> => {
    const { v } = JSON.parse(`{${source.query(n)}}`) as { v: number[] };
    const { matches } = await target.client.search(tenant, name, { v, k, ...(exact && { exact }) });
    return matches.map(({ id }) => id);
  };
  let [found, wanted] = [0, 0];
  for (let n = 0; n < queries; n++) {
    const [near, nearest] = [await ids(n, false), new Set(await ids(n, true))];
    found += near.filter((id) => nearest.has(id)).length;
    wanted += nearest.size;
  }
  const recall = found / wanted;
  return {
    figures: [{ name: `recall@${k}`, value: recall, unit: '', better: 'higher' }],
    tables: [
      {
        title: `Recall against exact searches of the same server`,
        columns: ['queries', 'k', 'recall'],
        rows: [[String(queries), String(k), told(recall)]],
      },
    ],
    charts: [],
  };
}

/**
 * The first request of a load, which waits for lazily built structures such as a text index. Measured before the loads,
 * which would spread its cost over all their requests. Empty if there is no request or it fails.
 */
export async function firstPart(target: Target, [first]: readonly Asked[]): Promise<Part> {
  if (!first) return NOTHING;
  const { result: status, seconds, spent } = await spending(target, 'search', () => sendOnce(target, first));
  if (status < 200 || status > 299) return NOTHING;
  const figures = [
    { name: 'first request', value: 1000 * seconds, unit: 'ms', better: 'lower' as const },
    ...(spent
      ? [{ name: 'server CPU of the first request', value: spent.serverCpuMs, unit: 'ms', better: 'lower' as const }]
      : []),
  ];
  return { ...NOTHING, figures };
}

async function sendOnce(target: Target, request: Asked): Promise<number> {
  const sender = new HttpSender(target.url);
  try {
    return await sender.send(request).catch(() => 0);
  } finally {
    sender.close();
  }
}
