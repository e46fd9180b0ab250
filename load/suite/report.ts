// The report of a load suite run, stored as JSON: the machine, and figures, tables and charts of each workload; and
// their formatting.
import type { Chart } from '../kit/charts.js';
import type { Latencies } from '../kit/closed-loop.js';

export interface LoadReport {
  /** Version of this format. */
  version: 1;
  /** UTC, ISO 8601. */
  startedAt: string;
  seconds: number;
  /** The command line. */
  command: string;
  /** Names and values: cores, CPU, memory, disk, kernel, Node, version and commit. */
  machine: Readonly<Record<string, string>>;
  workloads: readonly WorkloadReport[];
}

export interface WorkloadReport {
  /** The name that the command line uses, such as 'search-vectors'. */
  name: string;
  title: string;
  /** A description of the workload in a sentence or two. */
  about: string;
  /** The values by which two reports are compared. */
  figures: readonly Figure[];
  tables: readonly Table[];
  charts: readonly Chart[];
}

export interface Figure {
  /** Name within the workload, the same in each run. */
  name: string;
  value: number;
  /** 'ms', '1/s', 'MB', '%', ''. */
  unit: string;
  better: 'higher' | 'lower';
}

/** A table for people, with rounded numbers. */
export interface Table {
  title: string;
  columns: readonly string[];
  rows: readonly (readonly string[])[];
}

/** A part of a workload's report: figures, tables and charts of one measurement. */
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

/** A number with three significant digits; whole numbers are complete. */
export function told(value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return '-';
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(3)));
}

export const LATENCY_COLUMNS = ['mean ms', 'p50', 'p90', 'p99', 'p99.9', 'max'];

export const latencyCells = ({ meanMs, p50Ms, p90Ms, p99Ms, p999Ms, maxMs }: Latencies): string[] =>
  [meanMs, p50Ms, p90Ms, p99Ms, p999Ms, maxMs].map(told);

/** Figures of latencies, without the maximum: it is the latency of one request and differs from run to run. */
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
