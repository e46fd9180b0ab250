// Runs workloads in sequence, each against a new server on an empty data directory (tiny ones share one), or all
// against a given server, and returns the report.
import type { Chart } from '../kit/charts.js';
import { withFolder } from '../kit/server.js';
import { besidePart } from './beside-part.js';
import { type Filled, dropAll, fillOne, fillPart } from './fill.js';
import { againOf, limitsPart } from './limits.js';
import { type Say, firstPart, loadPart, recallPart, restartPart, runLoads } from './load-part.js';
import { trafficOf } from './loops.js';
import { type LoadReport, NOTHING, type Part, type WorkloadReport, joined, told } from './report.js';
import { Target, machineOf } from './target.js';
import { type Pace, type Wishes, type Workload, fitted, paceOf } from './workload.js';

/**
 * Runs one workload against a server: fills, waits until the server is idle, and measures each part of the workload.
 * Returns undefined and prints the reason if the workload cannot run against this server.
 */
async function runWorkload(
  workload: Workload,
  target: Target,
  pace: Pace,
  say: Say,
): Promise<WorkloadReport | undefined> {
  if (workload.restart && !target.isOwn) {
    say('skipped: it restarts its server, and that of --url is not its own');
    return undefined;
  }
  try {
    return await fillAndMeasure(workload, target, pace, say);
  } finally {
    // An external server is left as it was, even after a failure.
    await dropAll(target, { ...workload, fill: [...workload.fill, ...againOf(workload)] });
  }
}

async function fillAndMeasure(workload: Workload, target: Target, pace: Pace, say: Say): Promise<WorkloadReport> {
  const filled: Filled[] = [];
  for (const fill of workload.fill) {
    say(`filling ${fill.name}: ${told(fill.documents * (fill.collections ?? 1))} documents`);
    filled.push(await fillOne(target, workload.name, fill));
  }
  say('waiting until the server rests');
  await target.rest(pace.restCheckMs, pace.restWithinMs);
  const parts = [...(await measured(workload, target, filled, pace, say)), fillPart(filled)];
  const { name, title, about } = workload;
  return { name, title, about, ...joined(parts) };
}

async function measured(
  workload: Workload,
  target: Target,
  filled: readonly Filled[],
  pace: Pace,
  say: Say,
): Promise<Part[]> {
  const { traffic = [], open_loop: open, beside = [], recall, restart } = workload;
  const asked = traffic.length > 0 ? trafficOf(traffic, filled, target.headers) : [];
  const first = await firstPart(target, asked);
  const loads = await runLoads(target, workload, asked, say);
  const alone = loads.find(({ isOpen }) => isOpen);
  const parts = [
    loadPart(loads),
    first,
    alone ? await besidePart(target, beside, alone, asked, filled, open!.seconds, say) : NOTHING,
  ];
  if (recall) say(`${recall.queries} searches again, exactly`);
  if (recall) parts.push(await recallPart(target, filled, recall));
  if (restart) parts.push(await restartPart(target, asked, say));
  return [await limitsPart(target, workload, { asked, filled, rate: alone?.rate }, pace, say), ...parts];
}

interface SuiteOptions extends Wishes {
  url?: string;
  apiKey?: string;
  /** The command line, for the report. */
  command: string;
  /** Prints a line per step. */
  print(line: string): void;
  /** Called when a workload has failed; it is left out of the report, and the next one runs. */
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

/** The report of the workloads that `work` runs with a data folder. */
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
 * Drops figures that are not numbers, such as a mean of no answers: JSON cannot express them, and the report could not
 * be read back.
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
