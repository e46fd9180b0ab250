// A report as one HTML file that wants nothing else: no script, no request, charts as SVG within.
// Pure; called by write-report.ts.
import { summaryOf } from './markdown.js';
import { told } from './parts.js';
import type { LoadReport, Table, WorkloadReport } from './report.js';

const STYLE = `
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 70rem; margin: 0 auto; padding: 1rem 1.5rem 4rem; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 3rem; border-top: 1px solid #8885; padding-top: 1.5rem; }
nav ul { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; padding: 0; list-style: none; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; margin: .5rem 0 1.5rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; } th, td { padding: .25rem .8rem .25rem 0; text-align: left; border-bottom: 1px solid #8884; vertical-align: top; }
figure { margin: 1rem 0; } figure svg { max-width: 100%; height: auto; border-radius: 6px; background: #fff; }
pre { overflow-x: auto; padding: .6rem .8rem; background: #8882; border-radius: 6px; }`;

/** `svgOf`: a chart's picture. */
export function htmlOf(
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
<pre>${escaped(command)}</pre>
${tableOf({ title: 'Machine', columns: ['', ''], rows: Object.entries(machine) })}
<p>The load generator shares the machine with the server, unless the table above names a server. Latency of an open loop counts from when a request was due, so a server that stands still does not look fast.</p>
<nav aria-label="Workloads"><ul>${workloads.map(({ name, title }) => `<li><a href="#${escaped(name)}">${escaped(title)}</a></li>`).join('')}</ul></nav>
${tableOf(summaryOf(workloads))}
${workloads.map((workload) => sectionOf(workload, (chart) => svgOf(workload, chart))).join('\n')}
</body>
</html>
`;
}

function sectionOf({ name, title, about, tables, charts }: WorkloadReport, svg: (chart: number) => string): string {
  const figures = charts.map(
    (chart, i) => `<figure role="img" aria-label="${escaped(chart.title)}">${svg(i)}</figure>`,
  );
  return `<section>\n<h2 id="${escaped(name)}">${escaped(title)}</h2>\n<p><code>${escaped(name)}</code>: ${escaped(about)}</p>\n${[...tables.map(tableOf), ...figures].join('\n')}\n</section>`;
}

function tableOf({ title, columns, rows }: Table): string {
  const head = columns.some((column) => column !== '')
    ? `<thead><tr>${columns.map((column) => `<th scope="col">${escaped(column)}</th>`).join('')}</tr></thead>`
    : '';
  const body = rows.map(
    ([first = '', ...cells]) =>
      `<tr><th scope="row">${escaped(first)}</th>${cells.map((cell) => `<td>${escaped(cell)}</td>`).join('')}</tr>`,
  );
  return `<div class="scroll"><table><caption>${escaped(title)}</caption>${head}<tbody>${body.join('')}</tbody></table></div>`;
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
