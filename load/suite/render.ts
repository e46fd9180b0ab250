// Reports as Markdown and HTML, the comparison of two reports, and reading and writing them.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import typia from 'typia';
import { type Chart, chartSvg, escapedXml } from '../kit/charts.js';
import { LIMITS_TITLE } from './limits.js';
import { type Figure, type LoadReport, type Table, type WorkloadReport, told } from './report.js';
import { UsageError } from './workload.js';

interface Compared {
  workload: string;
  figure: string;
  unit: string;
  a: number | undefined;
  b: number | undefined;
  /** b divided by a. */
  ratio: number;
  verdict: 'better' | 'worse' | 'same' | 'only in A' | 'only in B';
}

interface Comparison {
  /** Differences of the machines in words, except version and commit, which are being compared, and the load before. */
  machines: string[];
  figures: Compared[];
}

const NO_MACHINE = ['version', 'commit', 'load before'];

/** `threshold` is the relative difference from which figures count as better or worse, such as .05. */
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

/** The value without the free space and the sync time of a disk, which differ from run to run. */
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

/** Limit for the figures of the summary. */
const FIGURES_MAX = 8;
/**
 * Figures left out of the summary: beside the median and p99 they add little, and for a closed loop the throughput says
 * the same.
 */
const DETAIL = /^p90|^p99\.9|closed loop$/;

/**
 * A report as Markdown: the machine, a summary, and each workload's tables, with its charts as pictures in files beside
 * it. `chartPath`: of a chart's picture, as the Markdown file names it.
 */
function markdownOf(report: LoadReport, chartPath: (workload: WorkloadReport, chart: number) => string): string {
  const { startedAt, seconds, command, machine, workloads } = report;
  const blocks = [
    '# Load report',
    `${startedAt.slice(0, 16).replace('T', ' ')} UTC, in ${told(seconds / 60)} minutes, by:`,
    `\`\`\`\n${command}\n\`\`\``,
    markdownTable({ title: '', columns: ['machine', ''], rows: Object.entries(machine) }),
    'The load generator shares the machine with the server, unless the table above names a server. Latency of an open loop counts from when a request was due, so a server that stands still does not look fast.',
    '## Summary',
    markdownTable(summaryOf(workloads)),
    ...workloads.flatMap((workload) => workloadBlocks(workload, (chart) => chartPath(workload, chart))),
  ];
  return `${blocks.join('\n\n')}\n`;
}

/** The summary: the first figures of each workload, and failures if there are any. */
function summaryOf(workloads: readonly WorkloadReport[]): Table {
  const main = ({ figures }: WorkloadReport): readonly Figure[] =>
    figures
      .filter(({ name, value }) => (name.startsWith('failed') ? value > 0 : !DETAIL.test(name)))
      .slice(0, FIGURES_MAX);
  const rows = workloads.map((workload) => [
    workload.title,
    main(workload).map(figureShown).join('; '),
    limitsShown(workload),
  ]);
  return { title: 'Summary', columns: ['workload', 'figures', 'what limits it'], rows };
}

function limitsShown({ tables }: WorkloadReport): string {
  const rows = tables.find(({ title }) => title === LIMITS_TITLE)?.rows ?? [];
  return rows.map(([load, limit, busy, share]) => `${load}: ${limit}, ${busy}${share ? ` (${share})` : ''}`).join('; ');
}

const figureShown = ({ name, value, unit }: Figure): string =>
  `${name} ${told(value)}${unit === '' ? '' : unit.startsWith('1/') ? unit.slice(1) : ` ${unit}`}`;

function workloadBlocks(
  { name, title, about, tables, charts }: WorkloadReport,
  path: (chart: number) => string,
): string[] {
  const pictures = charts.map((chart: Chart, i) => `![${escapedMarkdown(`${title}: ${chart.title}`)}](${path(i)})`);
  return [
    `## ${escapedMarkdown(title)}`,
    `\`${name}\`: ${escapedMarkdown(about)}`,
    ...tables.flatMap((table) => [`**${escapedMarkdown(table.title)}**`, markdownTable(table)]),
    ...pictures,
  ];
}

function markdownTable({ columns, rows }: Table): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(escapedMarkdown).join(' | ')} |`;
  return [line(columns), `|${columns.map(() => '---|').join('')}`, ...rows.map(line)].join('\n');
}

const escapedMarkdown = (text: string): string => text.replaceAll('\n', ' ').replace(/[|<>[\]*]/g, '\\$&');

const STYLE = `
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 70rem; margin: 0 auto; padding: 1rem 1.5rem 4rem; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 3rem; border-top: 1px solid #8885; padding-top: 1.5rem; }
nav ul { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; padding: 0; list-style: none; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; margin: .5rem 0 1.5rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; } th, td { padding: .25rem .8rem .25rem 0; text-align: left; border-bottom: 1px solid #8884; vertical-align: top; }
figure { margin: 1rem 0; } figure svg { max-width: 100%; height: auto; border-radius: 6px; background: #fff; }
pre { overflow-x: auto; padding: .6rem .8rem; background: #8882; border-radius: 6px; }`;

/** A report as one self-contained HTML file: no script, no requests, charts as inline SVG. `svgOf` draws a chart. */
function htmlOf(
  { startedAt, seconds, command, machine, workloads }: LoadReport,
  svgOf: (workload: WorkloadReport, chart: number) => string,
): string {
  const when = `${startedAt.slice(0, 16).replace('T', ' ')} UTC`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Load report, ${when}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>Load report</h1>
<p>${when}, in ${told(seconds / 60)} minutes, by:</p>
<pre>${escapedXml(command)}</pre>
${htmlTable({ title: 'Machine', columns: ['', ''], rows: Object.entries(machine) })}
<p>The load generator shares the machine with the server, unless the table above names a server. Latency of an open loop counts from when a request was due, so a server that stands still does not look fast.</p>
<nav aria-label="Workloads"><ul>${workloads.map(({ name, title }) => `<li><a href="#${escapedXml(name)}">${escapedXml(title)}</a></li>`).join('')}</ul></nav>
${htmlTable(summaryOf(workloads))}
${workloads.map((workload) => sectionOf(workload, (chart) => svgOf(workload, chart))).join('\n')}
</body>
</html>
`;
}

function sectionOf({ name, title, about, tables, charts }: WorkloadReport, svg: (chart: number) => string): string {
  const figures = charts.map(
    (chart, i) => `<figure role="img" aria-label="${escapedXml(chart.title)}">${svg(i)}</figure>`,
  );
  return `<section>\n<h2 id="${escapedXml(name)}">${escapedXml(title)}</h2>\n<p><code>${escapedXml(name)}</code>: ${escapedXml(about)}</p>\n${[...tables.map(htmlTable), ...figures].join('\n')}\n</section>`;
}

function htmlTable({ title, columns, rows }: Table): string {
  const head = columns.some((column) => column !== '')
    ? `<thead><tr>${columns.map((column) => `<th scope="col">${escapedXml(column)}</th>`).join('')}</tr></thead>`
    : '';
  const body = rows.map(
    ([first = '', ...cells]) =>
      `<tr><th scope="row">${escapedXml(first)}</th>${cells.map((cell) => `<td>${escapedXml(cell)}</td>`).join('')}</tr>`,
  );
  return `<div class="scroll"><table><caption>${escapedXml(title)}</caption>${head}<tbody>${body.join('')}</tbody></table></div>`;
}

const isReport = typia.createIs<LoadReport>();

/** Writes report.json, REPORT.md with charts, and report.html. */
export function writeReport(report: LoadReport, folder: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'report.json'), `${JSON.stringify(report, null, 2)}\n`);
  writeMarkdown(report, join(folder, 'REPORT.md'));
  writeFileSync(
    join(folder, 'report.html'),
    htmlOf(report, ({ charts }, chart) => chartSvg(charts[chart]!)),
  );
}

/** Charts go to a folder beside the file: REPORT-charts for REPORT.md. */
export function writeMarkdown(report: LoadReport, path: string): void {
  const charts = `${basename(path).replace(/\.md$/, '')}-charts`;
  const nameOf = ({ name }: WorkloadReport, chart: number): string => `${charts}/${name}-${chart + 1}.svg`;
  mkdirSync(join(dirname(path), charts), { recursive: true });
  writeFileSync(path, markdownOf(report, nameOf));
  for (const workload of report.workloads)
    workload.charts.forEach((chart, i) => writeFileSync(join(dirname(path), nameOf(workload, i)), chartSvg(chart)));
}

/** Throws with one line if the file is not a report. */
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

/** Joins reports of several runs on one machine. For a repeated workload, the later report counts. */
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
