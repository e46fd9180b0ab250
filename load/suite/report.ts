// What a run of the load suite found, as it is kept in JSON: the machine, and of each workload its figures, tables and
// charts. Written by the workloads and by the peers' run; read by the writers of the reports and by the comparison of
// two of them.

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

export interface Chart {
  title: string;
  kind: 'line' | 'bar';
  x: string;
  y: string;
  /** Bars: x is the label of the bar. */
  series: readonly { name: string; points: readonly { x: number | string; y: number }[] }[];
}
