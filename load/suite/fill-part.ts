// What filling the collections of a workload says: documents a second, and what a document costs.
// Called by run-workload.ts.
import { cpus } from 'node:os';
import type { Filled } from './fill.js';
import { told, type Part } from './parts.js';
import type { Chart, Figure, Table } from './report.js';

/** `filled`: all collections of the workload. */
export function fillPart(filled: readonly Filled[]): Part {
  const rate = (one: Filled): number => stored(one) / one.seconds;
  const figures: Figure[] = filled.map((one) => ({
    name: `${one.fill.name}: documents filled`,
    value: rate(one),
    unit: '1/s',
    better: 'higher',
  }));
  const rows = filled.map((one) => {
    const { fill, source, seconds, spent } = one;
    const each = (ms: number | undefined): string => told(ms === undefined ? undefined : ms / stored(one));
    return [
      fill.name,
      source.name,
      told(stored(one)),
      told(seconds),
      told(rate(one)),
      each(spent?.serverCpuMs),
      each(spent?.loadCpuMs),
      told(cores(spent?.serverCpuMs, seconds)),
      told(spent && spent.serverMemoryBytes / 1e6),
    ];
  });
  const columns = [
    'collection',
    'of',
    'documents',
    'seconds',
    'documents/s',
    'server CPU ms each',
    'generator CPU ms each',
    'server cores',
    'server MB',
  ];
  return {
    figures,
    tables: [{ title: 'Filled', columns, rows }, ...phaseTables(filled)],
    charts: rateCharts(filled, rate),
  };
}

const stored = ({ fill, collections }: Filled): number => fill.documents * collections.length;

/** Busy ones, on average; undefined where the server does not tell. */
export const cores = (cpuMs: number | undefined, seconds: number): number | undefined =>
  cpuMs === undefined ? undefined : Math.min(cpus().length, cpuMs / 1000 / seconds);

function phaseTables(filled: readonly Filled[]): Table[] {
  const phases = [...new Set(filled.flatMap(({ spent }) => spent?.phases.map(({ name }) => name) ?? []))];
  const rows = filled.map(({ fill, spent }) => [
    fill.name,
    told(spent?.count),
    told(spent?.httpMs),
    ...phases.map((phase) => told(spent?.phases.find(({ name }) => name === phase)?.meanMs)),
  ]);
  return phases.length === 0
    ? []
    : [
        {
          title:
            'Where the time of an ingest goes, in the server: means in ms of a batch, and of a part of one by phase',
          columns: ['collection', 'parts', 'whole request', ...phases],
          rows,
        },
      ];
}

function rateCharts(filled: readonly Filled[], rate: (one: Filled) => number): Chart[] {
  if (filled.length < 2) return [];
  return [
    {
      title: 'Documents filled a second',
      kind: 'bar',
      x: 'collection',
      y: 'documents/s',
      series: [{ name: 'documents/s', points: filled.map((one) => ({ x: one.fill.name, y: rate(one) })) }],
    },
  ];
}
