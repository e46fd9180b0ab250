// Cost of observability: a scrape of the metrics with few and with many collections, counting a search, and tracing at
// several sampling shares. On a shared machine, CPU time and many short turns are more reliable than rates and one long
// run (kit/interleaved-runs.ts).
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Metrics } from '../../src/observability/metrics.js';
import { QueueMetrics } from '../../src/pool/pool-metrics.js';
import { closedLoop, jsonPost } from '../kit/closed-loop.js';
import { type LoadOptions, printTable, whole } from '../kit/command.js';
import { post } from '../kit/fill.js';
import { type Cost, moreThan, type More, takeTurns, withServers } from '../kit/interleaved-runs.js';
import { cpuMs, type CpuMs } from '../kit/server-usage.js';
import { startServer, withFolder, type LoadServer, type Settings } from '../kit/server.js';

const TENANT = 'load';
const DOCS = `/v1/collections/${TENANT}/docs`;
const SEARCH = jsonPost(`${DOCS}/search`, { q: 'wind and waves of the sea', k: 10, mode: 'hybrid' });
/** Accepted additional cost of tracing at a share of 1 %, and of counting. */
const MORE_MAX = 0.03;
const CREATED_AT_A_TIME = 32;

interface Sizes {
  readonly documents: number;
  readonly collections: number;
  readonly scrapes: number;
  readonly rounds: number;
  /**
   * Searches per turn. Turns are short, so that other work on the machine lasts longer than a round and affects all
   * servers alike.
   */
  readonly turnSearches: number;
  readonly warmUpRounds: number;
  readonly counted: number;
}

/** Turns continue until it is certain on which side of 3 % each share of tracing is, or until a maximum of rounds. */
export async function observability({ tiny, number, text }: LoadOptions): Promise<void> {
  const sizes: Sizes = {
    documents: tiny ? 50 : 1000,
    collections: number('collections', tiny ? 100 : 10_000),
    scrapes: tiny ? 20 : 200,
    rounds: number('rounds', tiny ? 1 : 200),
    turnSearches: tiny ? 50 : 60,
    warmUpRounds: tiny ? 1 : 10,
    counted: tiny ? 10_000 : 500_000,
  };
  const only = text('only');
  const parts = { scrapes: compareScrapes, tracing: compareTracing };
  if (only !== undefined && !(only in parts))
    throw new TypeError(`--only wants one of ${Object.keys(parts).join(', ')}`);
  for (const [name, part] of Object.entries(parts)) if (only === undefined || only === name) await part(sizes);
}

async function fill(url: string, documents: number): Promise<void> {
  const items = Array.from({ length: documents }, (_, n) => ({
    docid: `d${n}`,
    text: `Document ${n} tells of wind, waves and ship number ${n % 97}.`,
  }));
  await post(`${url}${DOCS}/documents:batch`, JSON.stringify({ documents: items }), 201);
}

async function compareScrapes({ documents, collections, scrapes }: Sizes): Promise<void> {
  await withFolder(async (folder) => {
    const server = await startServer(folder);
    await fill(server.url, documents);
    await closedLoop({ url: server.url, connections: 4, seconds: 1, requests: [SEARCH] });
    const few = await scrape(server, scrapes);
    await createCollections(server.url, collections);
    const many = await scrape(server, scrapes);
    await server.kill();
    printTable(`A scrape of /metrics, mean of ${scrapes}`, [
      ['collections', 'main thread ms', 'all threads ms', 'answer p50 ms', 'bytes'],
      ['1', ...few],
      [whole(collections + 1), ...many],
    ]);
  });
}

async function createCollections(url: string, count: number): Promise<void> {
  for (let n = 0; n < count; n += CREATED_AT_A_TIME) {
    await Promise.all(
      Array.from({ length: Math.min(CREATED_AT_A_TIME, count - n) }, (_, i) =>
        post(`${url}/v1/collections/t${(n + i) % 100}/c${n + i}`, '{}', 201),
      ),
    );
  }
}

async function scrape({ url, pid }: LoadServer, times: number): Promise<string[]> {
  let bytes = 0;
  const waits: number[] = [];
  const ask = async (): Promise<void> => {
    const startedAtMs = performance.now();
    bytes = (await (await fetch(`${url}/metrics`)).text()).length;
    waits.push(performance.now() - startedAtMs);
  };
  for (let n = 0; n < times / 4; n++) await ask();
  waits.length = 0;
  const before = cpuMs(pid);
  for (let n = 0; n < times; n++) await ask();
  const after = cpuMs(pid);
  return [
    (spent(before, after, 'front', times) / 1000).toFixed(2),
    (spent(before, after, 'all', times) / 1000).toFixed(2),
    median(waits).toFixed(2),
    whole(bytes),
  ];
}

const spent = (before: CpuMs | undefined, after: CpuMs | undefined, of: keyof CpuMs, times: number): number =>
  (((after?.[of] ?? NaN) - (before?.[of] ?? NaN)) * 1000) / times;

const median = (values: number[]): number => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] as number;

async function compareTracing({ documents, rounds, turnSearches, warmUpRounds, counted }: Sizes): Promise<void> {
  const collector = await startCollector();
  const traced = (share: string): Settings => ({
    SHEAF_TRACING__ENABLED: 'true',
    SHEAF_TRACING__ENDPOINT: collector.url,
    SHEAF_TRACING__SAMPLE_SHARE: share,
  });
  // The second shows the difference between two identical servers.
  const kinds: readonly [string, Settings][] = [
    ['tracing off', {}],
    ['off too', {}],
    ['share .01', traced('0.01')],
    ['share .1, the default', traced('0.1')],
    ['share 1', traced('1')],
  ];
  await withServers(
    kinds.map(([, settings]) => settings),
    async (servers) => {
      for (const { url } of servers) await fill(url, documents);
      const searched = async (url: string): Promise<void> => {
        await post(url + SEARCH.path, SEARCH.body as string, 200);
      };
      await takeTurns(servers, warmUpRounds, turnSearches, searched);
      const isSure = (costs: readonly Cost[][]): boolean =>
        costs.slice(1).every((cost) => verdictOf(moreThan(costs[0] as Cost[], cost, 'allUs')) !== UNSURE);
      const costs = await takeTurns(servers, rounds, turnSearches, searched, isSure);
      const [off] = costs as [Cost[]];
      printTable(
        `Searches by text in mode hybrid, ${whole(documents)} documents, 8 connections, ${off.length} turns of ${turnSearches}: medians, with 99 % bounds`,
        [
          ['', 'front µs a search', 'all threads µs', 'front, more than off', 'all, more than off', 'at most 3 %'],
          ...costs.map((cost, i) => [
            kinds[i]![0],
            ...costCells(off, cost),
            i === 0 ? '' : verdictOf(moreThan(off, cost, 'allUs')),
          ]),
        ],
      );
      const us = countingUs(counted);
      printTable('Counting one search for the metrics', [
        ['µs', 'of the main thread', 'of all threads'],
        [
          us.toFixed(2),
          ...(['frontUs', 'allUs'] as const).map((of) => percent(us / median(off.map((one) => one[of])))),
        ],
      ]);
    },
  );
  collector.close();
}

const UNSURE = 'not sure yet';

const verdictOf = ({ low, high }: More): string => (high <= MORE_MAX ? 'yes' : low > MORE_MAX ? 'no' : UNSURE);

function costCells(off: readonly Cost[], cost: readonly Cost[]): string[] {
  const middle = (of: keyof Cost): string => median(cost.map((one) => one[of])).toFixed(0);
  const more = (of: keyof Cost): string => {
    const { median: share, low, high } = moreThan(off, cost, of);
    return `${percent(share)} (${percent(low)} to ${percent(high)})`;
  };
  return [middle('frontUs'), middle('allUs'), more('frontUs'), more('allUs')];
}

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;

/** An OpenTelemetry collector that accepts everything. */
async function startCollector(): Promise<{ url: string; close(): void }> {
  const server = createServer(
    (message, response) => void message.resume().once('end', () => response.end('{}')),
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`,
    close: () => (server.closeAllConnections(), server.close()),
  };
}

/**
 * Microseconds to count one text search in mode hybrid, as the server does: three queues, the embedder, the search, the
 * request.
 */
function countingUs(times: number): number {
  const metrics = new Metrics();
  const queues = ['queries', 'searches', 'commands'].map((name) => new QueueMetrics('search', name));
  const timing = {
    embed_ms: 0.2,
    filter_ms: 0.01,
    search_ms: 0.4,
    hydrate_ms: 0.1,
    vector_search_ms: 0.2,
    lexical_search_ms: 0.2,
  };
  const request = { method: 'POST', route: `${DOCS}/search`, status: 200, latencyMs: 1, tenant: 'load' };
  const count = (): void => {
    for (const queue of queues) queue.sent([performance.now()]);
    metrics.embedders.called({ key: 'builtin', kind: 'queries', texts: 1, ms: 0.2, failed: false });
    metrics.searched({ timing, hits: [] }, 0.8);
    metrics.finished(request);
  };
  for (let n = 0; n < times / 10; n++) count();
  const startedAtMs = performance.now();
  for (let n = 0; n < times; n++) count();
  return ((performance.now() - startedAtMs) * 1000) / times;
}
