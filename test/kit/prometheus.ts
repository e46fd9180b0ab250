// A real Prometheus that scrapes a test's server, with the configuration and the rules of scripts/deploy. `skip` names
// the reason where Debian's package `prometheus` is absent.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { parse, stringify } from 'yaml';
import { closedPort } from './fake-server.js';
import { tempDirectory } from './temp.js';
import { until } from './until.js';

export const PROMETHEUS = ['/usr/bin/prometheus', '/usr/local/bin/prometheus'].find((path) => existsSync(path));
export const PROMTOOL = ['/usr/bin/promtool', '/usr/local/bin/promtool'].find((path) => existsSync(path));
export const DEPLOY = 'scripts/deploy';

interface Sample {
  metric: Record<string, string>;
  value: [number, string];
}

export interface Prometheus {
  /** The samples of an instant query. Throws where Prometheus rejects the expression. */
  query(expression: string): Promise<Sample[]>;
  api(path: string): Promise<any>;
}

/** Scrapes every `everyMs` milliseconds with the admin key; ends with the test. */
export async function startPrometheus(
  t: TestContext,
  server: { port: number; adminKey: string },
  everyMs: number,
): Promise<Prometheus> {
  const folder = tempDirectory();
  writeFileSync(join(folder, 'key'), server.adminKey, { mode: 0o600 });
  copyFileSync(`${DEPLOY}/prometheus/rules.yml`, join(folder, 'rules.yml'));
  const config = parse(readFileSync(`${DEPLOY}/prometheus/prometheus.yml`, 'utf8')) as Record<string, any>;
  Object.assign(config.global, { scrape_interval: `${everyMs}ms`, evaluation_interval: `${everyMs}ms` });
  config.scrape_configs[0].authorization.credentials_file = join(folder, 'key');
  config.scrape_configs[0].static_configs[0].targets = [`127.0.0.1:${server.port}`];
  writeFileSync(join(folder, 'prometheus.yml'), stringify(config));
  const port = await closedPort();
  const flags = [
    `--config.file=${join(folder, 'prometheus.yml')}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
    '--log.level=warn',
  ];
  const child = spawn(PROMETHEUS as string, flags, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(child, 'exit');
  let written = '';
  child.stderr.on('data', (piece: Buffer) => (written += piece.toString()));
  t.after(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  const api = async (path: string): Promise<any> => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`);
    const { status, data, error } = (await response.json()) as { status: string; data: any; error?: string };
    if (status !== 'success') throw new Error(`${decodeURIComponent(path)}: ${error}`);
    return data;
  };
  await until(
    async () =>
      child.exitCode !== null ||
      (await fetch(`http://127.0.0.1:${port}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      )),
    'Prometheus does not start',
  );
  if (child.exitCode !== null) throw new Error(`Prometheus ended: ${written}`);
  return { api, query: async (expression) => (await api(`query?query=${encodeURIComponent(expression)}`)).result };
}

/** The queries of every panel of the dashboard, with the dashboard's variables filled in. */
export function dashboardQueries(rateInterval: string): { panel: string; expression: string }[] {
  const { panels } = JSON.parse(readFileSync(`${DEPLOY}/grafana/dashboard.json`, 'utf8')) as {
    panels: { title: string; targets?: { expr: string }[] }[];
  };
  const filled = (expr: string): string =>
    expr.replaceAll('$__rate_interval', rateInterval).replaceAll(/\$(instance|job)\b/g, '.*');
  return panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ panel: title, expression: filled(expr) })),
  );
}

/** The metrics of Sheaf and of Node that an expression names. */
export const metricsIn = (expression: string): string[] => [
  ...new Set(expression.match(/\b(?:sheaf|nodejs|process)_\w+/g) ?? []),
];
