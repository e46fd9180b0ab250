// The loads of a workload, closed loop and open, and what they say: throughput, latencies, what a request costs, and
// where its time goes. Called by run-workload.ts.
import { cores } from './fill-part.js';
import { closedLoop, scheduled, type Loaded } from './loops.js';
import { LATENCY_COLUMNS, latencyCells, latencyChart, latencyFigures, NOTHING, told, type Part } from './parts.js';
import type { Chart, Figure, Table } from './report.js';
import { spending, type Spent } from './spent.js';
import type { Target } from './target.js';
import type { Asked } from './traffic.js';
import type { Workload } from './workload.js';

export interface Load {
  /** Such as 'at 50 %': part of the figures' names. */
  when: string;
  /** In tables. */
  name: string;
  loaded: Loaded;
  seconds: number;
  spent: Spent | undefined;
  isOpen: boolean;
  rate?: number;
}

export type Say = (line: string) => void;

/** The closed loop first, as shares are of what it reached. */
export async function runLoads(
  target: Target,
  { closed_loop: closed, open_loop: open }: Workload,
  asked: readonly Asked[],
  say: Say,
): Promise<Load[]> {
  const loads: Load[] = [];
  if (closed) {
    const { connections, seconds, warm_up_seconds: warmUpSeconds = 0 } = closed;
    if (warmUpSeconds > 0) await closedLoop(target, asked, connections, warmUpSeconds);
    say(`as fast as ${connections} connections carry, ${seconds} s`);
    const { result: loaded, ...spent } = await spending(target, 'search', () =>
      closedLoop(target, asked, connections, seconds),
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
