// Two reports side by side: each figure of both, their ratio, and whether the second is better; and what differs
// between the machines, which is to be read first. Pure but for the printing; called by the compare command.
import { told } from './parts.js';
import type { Figure, LoadReport, Table } from './report.js';

interface Compared {
  workload: string;
  figure: string;
  unit: string;
  a: number | undefined;
  b: number | undefined;
  /** b of a. */
  ratio: number;
  verdict: 'better' | 'worse' | 'same' | 'only in A' | 'only in B';
}

export interface Comparison {
  /** In words; but for version and commit, which are what is compared, and for the load before. */
  machines: string[];
  figures: Compared[];
}

const NO_MACHINE = ['version', 'commit', 'load before'];

/** `threshold`: the share by which figures must differ to be better or worse, such as .05. */
export function compareReports(a: LoadReport, b: LoadReport, threshold: number): Comparison {
  const keys = [...new Set([...Object.keys(a.machine), ...Object.keys(b.machine)])].filter(
    (key) => !NO_MACHINE.includes(key),
  );
  const machines = keys
    .filter((key) => steady(a.machine[key]) !== steady(b.machine[key]))
    .map((key) => `${key}: ${a.machine[key] ?? '-'} in A, ${b.machine[key] ?? '-'} in B`);
  const names = [...new Set([...a.workloads, ...b.workloads].map(({ name }) => name))];
  const figuresOf = ({ workloads }: LoadReport, name: string): readonly Figure[] =>
    workloads.find((workload) => workload.name === name)?.figures ?? [];
  return {
    machines,
    figures: names.flatMap((name) => compareFigures(name, figuresOf(a, name), figuresOf(b, name), threshold)),
  };
}

/** Room and sync time of a disk differ from run to run. */
const steady = (value: string | undefined): string | undefined => value?.replace(/, \d+ GB free.*$/, '');

function compareFigures(
  workload: string,
  ofA: readonly Figure[],
  ofB: readonly Figure[],
  threshold: number,
): Compared[] {
  const names = [...new Set([...ofA, ...ofB].map(({ name }) => name))];
  return names.map((figure) => {
    const [a, b] = [ofA, ofB].map((figures) => figures.find(({ name }) => name === figure));
    const { unit } = (a ?? b) as Figure;
    const ratio = a === undefined || b === undefined ? NaN : a.value === b.value ? 1 : b.value / a.value;
    return { workload, figure, unit, a: a?.value, b: b?.value, ratio, verdict: verdictOf(a, b, ratio, threshold) };
  });
}

function verdictOf(
  a: Figure | undefined,
  b: Figure | undefined,
  ratio: number,
  threshold: number,
): Compared['verdict'] {
  if (a === undefined) return 'only in B';
  if (b === undefined) return 'only in A';
  if (Math.abs(ratio - 1) <= threshold) return 'same';
  return ratio > 1 === (a.better === 'higher') ? 'better' : 'worse';
}

export function comparisonTable({ figures }: Comparison): Table {
  const rows = figures.map(({ workload, figure, unit, a, b, ratio, verdict }) => [
    workload,
    figure,
    unit,
    told(a),
    told(b),
    Number.isFinite(ratio) ? ratio.toFixed(2) : '-',
    verdict,
  ]);
  return { title: 'A beside B', columns: ['workload', 'figure', 'unit', 'A', 'B', 'B/A', 'B is'], rows };
}
