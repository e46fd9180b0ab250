// A report as Markdown: the machine, a summary, and each workload's tables, with its charts as pictures in files beside
// it. Pure; called by write-report.ts.
import { LIMITS_TITLE } from './limits/limit.js';
import { told } from './parts.js';
import type { Chart, Figure, LoadReport, Table, WorkloadReport } from './report.js';

/** Of the summary. */
const FIGURES_MAX = 8;
/** Beside the median and the 99th hundredth they say little more, and of a closed loop the throughput says it. */
const DETAIL = /^p90|^p99\.9|closed loop$/;

/** `chartPath`: of a chart's picture, as the Markdown file names it. */
export function markdownOf(report: LoadReport, chartPath: (workload: WorkloadReport, chart: number) => string): string {
  const { startedAt, seconds, command, machine, workloads } = report;
  const blocks = [
    '# Load report',
    `${startedAt.slice(0, 16).replace('T', ' ')} UTC, in ${told(seconds / 60)} minutes, by:`,
    `\`\`\`\n${command}\n\`\`\``,
    tableOf({ title: '', columns: ['machine', ''], rows: Object.entries(machine) }),
    'The load generator shares the machine with the server, unless the table above names a server. Latency of an open loop counts from when a request was due, so a server that stands still does not look fast.',
    '## Summary',
    tableOf(summaryOf(workloads)),
    ...workloads.flatMap((workload) => workloadBlocks(workload, (chart) => chartPath(workload, chart))),
  ];
  return `${blocks.join('\n\n')}\n`;
}

/** Of each workload what it names first; failures where there are any. */
export function summaryOf(workloads: readonly WorkloadReport[]): Table {
  const main = ({ figures }: WorkloadReport): readonly Figure[] =>
    figures
      .filter(({ name, value }) => (name.startsWith('failed') ? value > 0 : !DETAIL.test(name)))
      .slice(0, FIGURES_MAX);
  const rows = workloads.map((workload) => [
    workload.title,
    main(workload).map(figureTold).join('; '),
    limitsTold(workload),
  ]);
  return { title: 'Summary', columns: ['workload', 'figures', 'what limits it'], rows };
}

function limitsTold({ tables }: WorkloadReport): string {
  const rows = tables.find(({ title }) => title === LIMITS_TITLE)?.rows ?? [];
  return rows.map(([load, limit, busy, share]) => `${load}: ${limit}, ${busy}${share ? ` (${share})` : ''}`).join('; ');
}

const figureTold = ({ name, value, unit }: Figure): string =>
  `${name} ${told(value)}${unit === '' ? '' : unit.startsWith('1/') ? unit.slice(1) : ` ${unit}`}`;

function workloadBlocks(
  { name, title, about, tables, charts }: WorkloadReport,
  path: (chart: number) => string,
): string[] {
  const pictures = charts.map((chart: Chart, i) => `![${escaped(`${title}: ${chart.title}`)}](${path(i)})`);
  return [
    `## ${escaped(title)}`,
    `\`${name}\`: ${escaped(about)}`,
    ...tables.flatMap((table) => [`**${escaped(table.title)}**`, tableOf(table)]),
    ...pictures,
  ];
}

function tableOf({ columns, rows }: Table): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(escaped).join(' | ')} |`;
  return [line(columns), `|${columns.map(() => '---|').join('')}`, ...rows.map(line)].join('\n');
}

const escaped = (text: string): string => text.replaceAll('\n', ' ').replace(/[|<>[\]*]/g, '\\$&');
