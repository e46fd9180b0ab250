// What a run of the load suite found, as it is kept in JSON: the machine, and of each workload its figures, tables and
// charts; and how they are worded.
import type { Chart } from '../kit/charts.js';
import type { Latencies } from '../kit/closed-loop.js';

export interface LoadReport {
  /** Of this form. */
  version: 1;
  /** UTC, ISO 8601. */
  startedAt: string;
  seconds: number;
  /** As it is typed. */
  command: string;
  /** Names and values: cores, processor, memory, disk, kernel, Node, this version and its commit. */
  machine: Readonly<Record<string, string>>;
  workloads: readonly WorkloadReport[];
}

export interface WorkloadReport {
  /** In words of the command line, such as 'search-vectors'. */
  name: string;
  title: string;
  /** What is done to what, in a sentence or two. */
  about: string;
  /** What two reports are compared by. */
  figures: readonly Figure[];
  tables: readonly Table[];
  charts: readonly Chart[];
}

export interface Figure {
  /** Within the workload, the same in each run. */
  name: string;
  value: number;
  /** 'ms', '1/s', 'MB', '%', ''. */
  unit: string;
  better: 'higher' | 'lower';
}

/** Cells are for people; numbers are rounded. */
export interface Table {
  title: string;
  columns: readonly string[];
  rows: readonly (readonly string[])[];
}

/** A part of a workload's report: figures, tables and charts of one thing that was measured. */
export interface Part {
  figures: readonly Figure[];
  tables: readonly Table[];
  charts: readonly Chart[];
}

export const NOTHING: Part = { figures: [], tables: [], charts: [] };

export function joined(parts: readonly Part[]): Part {
  return {
    figures: parts.flatMap(({ figures }) => figures),
    tables: parts.flatMap(({ tables }) => tables),
    charts: parts.flatMap(({ charts }) => charts),
  };
}

/** Three digits that count, more of whole numbers. */
export function told(value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return '-';
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(3)));
}

export const LATENCY_COLUMNS = ['mean ms', 'p50', 'p90', 'p99', 'p99.9', 'max'];

export const latencyCells = ({ meanMs, p50Ms, p90Ms, p99Ms, p999Ms, maxMs }: Latencies): string[] =>
  [meanMs, p50Ms, p90Ms, p99Ms, p999Ms, maxMs].map(told);

/** The largest is one request's, and says nothing from one run to the next. */
export function latencyFigures(latencies: Latencies, when: string): Figure[] {
  const { p50Ms, p90Ms, p99Ms, p999Ms } = latencies;
  return Object.entries({ p50: p50Ms, p90: p90Ms, p99: p99Ms, 'p99.9': p999Ms }).flatMap(([name, value]) =>
    Number.isFinite(value) ? [{ name: `${name} ${when}`, value, unit: 'ms', better: 'lower' as const }] : [],
  );
}

export function latencyChart(title: string, all: readonly { name: string; latencies: Latencies }[]): Chart {
  const points = ({ p50Ms, p90Ms, p99Ms, p999Ms }: Latencies): { x: string; y: number }[] =>
    Object.entries({ p50: p50Ms, p90: p90Ms, p99: p99Ms, 'p99.9': p999Ms })
      .map(([x, y]) => ({ x, y }))
      .filter(({ y }) => Number.isFinite(y));
  return {
    title,
    kind: 'bar',
    x: 'percentile',
    y: 'ms',
    series: all.map(({ name, latencies }) => ({ name, points: points(latencies) })),
  };
}
