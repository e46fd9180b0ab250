// Writes what is generated in the documentation: the tables of configuration keys, error codes, endpoints and metrics,
// which come from the code, and the chart of the README, which comes from the table beside it. Run it after a build
// when one of them has changed: node scripts/docs-tables.mjs. With --check it writes nothing, and fails if one differs.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { chartSvg } from '../dist/load/kit/charts.js';
import { ERROR_CODES } from '../dist/src/api/errors.js';
import { CONFIG_KEYS, envNameOf } from '../dist/src/config/keys.js';
import { createRoutes } from '../dist/src/http/routes.js';
import { registerRequests } from '../dist/src/observability/gauges.js';
import { Metrics } from '../dist/src/observability/metrics.js';
import { Registry } from '../dist/src/observability/prometheus.js';
import { reportRegistry } from '../dist/src/service/health/metrics-report.js';

/**
 * A placeholder for the services. Route handlers use services when a request comes, and metrics when they are scraped;
 * this script does neither.
 */
const services = new Proxy({}, { get: () => services });

function metricFamilies() {
  const server = new Registry();
  registerRequests(server, services);
  const all = [new Metrics(1).registry, reportRegistry(services, services), server];
  return all
    .flatMap(({ described }) => described)
    .filter(({ name }) => name.startsWith('sheaf_'))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

const TABLES = [
  {
    page: 'docs/operations/configuration.md',
    header: '| Key | Variable | Default | Meaning |',
    rows: CONFIG_KEYS.map(
      ({ path, fallback, fallbackText, meaning }) =>
        `| \`${path}\` | \`${envNameOf(path)}\` | ${fallbackText ?? `\`${fallback}\``} | ${meaning} |`,
    ),
  },
  {
    page: 'docs/reference/errors.md',
    header: '| Code | Status | Meaning | Retry helps |',
    rows: Object.entries(ERROR_CODES).map(
      ([code, { status, meaning, retryable }]) =>
        `| \`${code}\` | ${status} | ${meaning} | ${retryable ? 'yes' : 'no'} |`,
    ),
  },
  {
    page: 'docs/reference/http-api.md',
    header: '| Endpoint | Access | What it does |',
    rows: createRoutes(services).map(
      ({ method, path, access, scope, summary }) =>
        `| \`${method} ${path}\` | ${access === 'tenant' ? scope : access} | ${summary} |`,
    ),
  },
  {
    page: 'docs/reference/metrics.md',
    header: '| Metric | Type | Labels | Meaning |',
    rows: metricFamilies().map(
      ({ name, type, labels, help }) =>
        `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${help} |`,
    ),
  },
];

/** The page with the rows of the table that begins with `header` replaced. */
function withRows(text, { page, header, rows }) {
  const lines = text.split('\n');
  const start = lines.indexOf(header) + 2;
  if (start < 2) throw new Error(`${page} has no table ${header}`);
  let end = start;
  while (lines[end].startsWith('|')) end++;
  lines.splice(start, end - start, ...rows);
  return lines.join('\n');
}

/** The first two number columns of the README's table of other databases, as a bar chart. */
function databasesChart(readme) {
  const rows = readme
    .split('\n')
    .filter((line) => /^\| (search|under|filling)/.test(line))
    .map((line) => line.split('|').map((cell) => cell.trim()));
  if (rows.length < 3) throw new Error('README.md has no table of other databases');
  const labels = {
    'under a filter that one chunk in 100 fits': 'filtered 1 in 100',
    'filling, vectors a second': 'filling',
  };
  const series = ['Sheaf', 'Chroma 1.5.9'].map((name, column) => ({
    name,
    points: rows.map((cells) => ({
      x: labels[cells[1]] ?? cells[1],
      y: Number(cells[2 + column].replaceAll(',', '')),
    })),
  }));
  return chartSvg({
    title: 'Searches and filled vectors a second, 20,000 vectors, two cores',
    kind: 'bar',
    x: '',
    y: 'a second',
    series,
  });
}

const read = (page) => readFileSync(new URL(`../${page}`, import.meta.url), 'utf8');

const GENERATED = [
  ...TABLES.map((table) => ({ page: table.page, text: withRows(read(table.page), table) })),
  { page: 'docs/images/databases.svg', text: `${databasesChart(read('README.md'))}\n` },
];

for (const { page, text } of GENERATED) {
  const file = new URL(`../${page}`, import.meta.url);
  if (existsSync(file) && readFileSync(file, 'utf8') === text) continue;
  if (process.argv.includes('--check')) {
    console.error(`${page} is not up to date: run \`node scripts/docs-tables.mjs\``);
    process.exitCode = 1;
  } else writeFileSync(file, text);
}
