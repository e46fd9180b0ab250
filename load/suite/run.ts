// Runs workloads one behind the other, each against a server of its own on an empty data directory (the tiny ones share
// one), or all against the one that is given, and answers the report. Called by the run command.
import { withFolder } from '../kit/server.js';
import { fitted, paceOf, type Wishes } from './fit.js';
import { machineOf } from './machine.js';
import type { Chart, LoadReport, WorkloadReport } from './report.js';
import { runWorkload } from './run-workload.js';
import { Target } from './target.js';
import type { Workload } from './workload.js';

export interface SuiteOptions extends Wishes {
  url?: string;
  apiKey?: string;
  /** As it is typed, for the report. */
  command: string;
  /** A line for each step. */
  print(line: string): void;
  /** A workload has failed, and is not in the report; the next one goes on. */
  failed(name: string, error: Error): void;
}

export async function runSuite(workloads: readonly Workload[], options: SuiteOptions): Promise<LoadReport> {
  const startedAtMs = performance.now();
  const print = (line: string): void =>
    options.print(`[${((performance.now() - startedAtMs) / 1000).toFixed(0).padStart(4)} s] ${line}`);
  const report = await reportOf(options.command, (folder) => runAll(workloads, { ...options, print }, folder));
  return {
    ...report,
    machine: {
      ...report.machine,
      ...(options.url && { server: options.url }),
      ...(options.tiny && { size: 'tiny: no figure means anything' }),
    },
  };
}

/** Of workloads that `work` runs, with a folder for data. */
export async function reportOf(
  command: string,
  work: (folder: string) => Promise<readonly WorkloadReport[]>,
): Promise<LoadReport> {
  const startedAt = new Date();
  return withFolder(async (folder) => {
    const machine = await machineOf(folder);
    const workloads = (await work(folder)).map(finite);
    return {
      version: 1,
      startedAt: startedAt.toISOString(),
      seconds: Math.round((Date.now() - startedAt.getTime()) / 1000),
      command,
      machine,
      workloads,
    };
  });
}

/**
 * A figure that could not be told, such as a mean of no answers, is left out: JSON has no word for it, and the report
 * could not be read back.
 */
function finite(report: WorkloadReport): WorkloadReport {
  const points = (series: Chart['series'][number]): Chart['series'][number] => ({
    ...series,
    points: series.points.filter(({ y }) => Number.isFinite(y)),
  });
  return {
    ...report,
    figures: report.figures.filter(({ value }) => Number.isFinite(value)),
    charts: report.charts.map((chart) => ({ ...chart, series: chart.series.map(points) })),
  };
}

async function runAll(
  workloads: readonly Workload[],
  options: SuiteOptions,
  folder: string,
): Promise<WorkloadReport[]> {
  const shared = options.tiny || options.url !== undefined ? await Target.open({ ...options, folder }) : undefined;
  const found: WorkloadReport[] = [];
  try {
    for (const workload of workloads) {
      const run = (target: Target): Promise<WorkloadReport | undefined> =>
        runWorkload(fitted(workload, options), target, paceOf(options), (line) =>
          options.print(`${workload.name}: ${line}`),
        );
      const report = await (shared ? run(shared) : withOwn(workload, run)).catch((error: Error) =>
        options.failed(workload.name, error),
      );
      if (report) found.push(report);
    }
  } finally {
    await shared?.close();
  }
  return found;
}

function withOwn<T>({ server: settings }: Workload, work: (target: Target) => Promise<T>): Promise<T> {
  return withFolder(async (folder) => {
    const target = await Target.open({ folder, settings });
    try {
      return await work(target);
    } finally {
      await target.close();
    }
  });
}
