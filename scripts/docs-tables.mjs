// Writes the tables of the documentation that come from the code: configuration keys, error codes, endpoints, metrics. Run it
// after a build when one of them has changed: node scripts/docs-tables.mjs. With --check it writes nothing, and fails
// if a table differs.
import { readFileSync, writeFileSync } from 'node:fs';
import { ERROR_CODES } from '../dist/src/api/errors.js';
import { CONFIG_KEYS, envNameOf } from '../dist/src/config/keys.js';
import { createRoutes } from '../dist/src/http/routes.js';
import { registerRequests } from '../dist/src/observability/gauges.js';
import { Metrics } from '../dist/src/observability/metrics.js';
import { Registry } from '../dist/src/observability/prometheus.js';
import { reportRegistry } from '../dist/src/service/health/metrics-report.js';

/** Stands for the services: handlers use them when a request comes, and metrics when they are scraped: neither is here. */
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

/** Replaces the rows of the table that begins with `header`. */
function withRows(text, { page, header, rows }) {
  const lines = text.split('\n');
  const start = lines.indexOf(header) + 2;
  if (start < 2) throw new Error(`${page} has no table ${header}`);
  let end = start;
  while (lines[end].startsWith('|')) end++;
  lines.splice(start, end - start, ...rows);
  return lines.join('\n');
}

for (const table of TABLES) {
  const file = new URL(`../${table.page}`, import.meta.url);
  const before = readFileSync(file, 'utf8');
  const text = withRows(before, table);
  if (text === before) continue;
  if (process.argv.includes('--check')) {
    console.error(`${table.page}: its table differs from the code: run \`node scripts/docs-tables.mjs\``);
    process.exitCode = 1;
  } else writeFileSync(file, text);
}
