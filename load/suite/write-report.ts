// Writes a report as JSON, Markdown with its charts, and HTML; reads one back, and joins several.
// Called by the commands of the suite.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import typia from 'typia';
import { svgOf } from './chart-svg.js';
import { htmlOf } from './html.js';
import { markdownOf } from './markdown.js';
import type { LoadReport, WorkloadReport } from './report.js';
import { UsageError } from './usage-error.js';

const isReport = typia.createIs<LoadReport>();

/** report.json, REPORT.md with charts, and report.html. */
export function writeReport(report: LoadReport, folder: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'report.json'), `${JSON.stringify(report, null, 2)}\n`);
  writeMarkdown(report, join(folder, 'REPORT.md'));
  writeFileSync(
    join(folder, 'report.html'),
    htmlOf(report, ({ charts }, chart) => svgOf(charts[chart]!)),
  );
}

/** Charts go to a folder beside it, REPORT-charts for REPORT.md. */
export function writeMarkdown(report: LoadReport, path: string): void {
  const charts = `${basename(path).replace(/\.md$/, '')}-charts`;
  const nameOf = ({ name }: WorkloadReport, chart: number): string => `${charts}/${name}-${chart + 1}.svg`;
  mkdirSync(join(dirname(path), charts), { recursive: true });
  writeFileSync(path, markdownOf(report, nameOf));
  for (const workload of report.workloads)
    workload.charts.forEach((chart, i) => writeFileSync(join(dirname(path), nameOf(workload, i)), svgOf(chart)));
}

/** Throws with one line where it is none. */
export function readReport(path: string): LoadReport {
  let found: unknown;
  try {
    found = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new UsageError(`${path}: ${(error as Error).message}`);
  }
  if (!isReport(found)) throw new UsageError(`${path} is no report of the load suite, version 1`);
  return found;
}

/** One of all workloads, those of several runs on one machine. Of workloads with one name the later counts. */
export function joinedReports(reports: readonly LoadReport[]): LoadReport {
  const [first] = reports as [LoadReport];
  const workloads = new Map(reports.flatMap((report) => report.workloads.map((workload) => [workload.name, workload])));
  return {
    ...first,
    seconds: reports.reduce((sum, { seconds }) => sum + seconds, 0),
    command: reports.map(({ command }) => command).join('\n'),
    machine: Object.assign({}, ...[...reports].reverse().map(({ machine }) => machine)) as LoadReport['machine'],
    workloads: [...workloads.values()],
  };
}
