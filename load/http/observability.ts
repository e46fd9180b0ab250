// What being seen costs: counting a search beside the search, tracing at several shares beside none, and a scrape of
// the metrics with few collections and with many. On a shared machine processor time says more than searches a second,
// and turns more than one long run (kit/turns.ts). Turns go on until it is sure, or after so many rounds not, on which
// side of 3 % each is. node dist/load/observability.js [--tiny] [--only scrapes|tracing] [--rounds 200] [--collections
// 10000]
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { QueueMetrics } from '../../src/pool/pool-metrics.js';
import { Metrics } from '../../src/observability/metrics.js';
import { printTable, readArguments, whole } from '../kit/command.js';
import { hammer, type CannonRequest } from '../kit/closed-loop.js';
import { cpuMs, type CpuMs } from '../kit/server-usage.js';
import { startServer, withFolder, type LoadServer, type Settings } from '../kit/server.js';
import { moreThan, takeTurns, withServers, type Cost, type More } from '../kit/interleaved-runs.js';

const { tiny, number, text } = readArguments('rounds', 'collections', 'only');
const rounds = number('rounds', tiny ? 1 : 200);
const manyCollections = number('collections', tiny ? 100 : 10_000);
const DOCUMENTS = tiny ? 50 : 1000;
/** Few: whatever else the machine does lasts longer than a round of such turns, and falls on all of it. */
const TURN_SEARCHES = tiny ? 50 : 60;
/** What tracing may cost at a share of a hundredth, and counting. */
const MORE_MAX = 0.03;
const SCRAPES = tiny ? 20 : 200;
const COUNTED = tiny ? 10_000 : 500_000;
const CREATED_AT_A_TIME = 32;
const JSON_HEADERS = { 'content-type': 'application/json' };
const DOCS = '/v1/collections/load/docs';

const search: CannonRequest = {
  method: 'POST',
  path: `${DOCS}/search`,
  headers: JSON_HEADERS,
  body: JSON.stringify({ q: 'wind and waves of the sea', k: 10, mode: 'hybrid' }),
};

const post = async (url: string, path: string, body: object = {}, wanted = 201): Promise<void> => {
  const response = await fetch(url + path, { method: 'POST', headers: JSON_HEADERS, body: JSON.stringify(body) });
  await response.arrayBuffer();
  const { status } = response;
  if (status !== wanted) throw new Error(`POST ${path}: status ${status}`);
};

const fill = (url: string): Promise<void> =>
  post(url, `${DOCS}/documents:batch`, {
    documents: Array.from({ length: DOCUMENTS }, (_, n) => ({
      docid: `d${n}`,
      text: `Document ${n} tells of wind, waves and ship number ${n % 97}.`,
    })),
  });

/**
 * Microseconds of counting one search by text in mode hybrid, as the server does: three lanes, the embedder, the
 * search, the request.
 */
function countingUs(): number {
  const metrics = new Metrics();
  const lanes = ['queries', 'searches', 'commands'].map((name) => new QueueMetrics('search', name));
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
    for (const lane of lanes) lane.sent([performance.now()]);
    metrics.embedders.called({ key: 'builtin', kind: 'queries', texts: 1, ms: 0.2, failed: false });
    metrics.searched({ timing, hits: [] }, 0.8);
    metrics.finished(request);
  };
  for (let n = 0; n < COUNTED / 10; n++) count();
  const startedAtMs = performance.now();
  for (let n = 0; n < COUNTED; n++) count();
  return ((performance.now() - startedAtMs) * 1000) / COUNTED;
}

const spent = (before: CpuMs | undefined, after: CpuMs | undefined, of: keyof CpuMs, times: number): number =>
  (((after?.[of] ?? NaN) - (before?.[of] ?? NaN)) * 1000) / times;

/** Takes whatever comes. */
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

async function compareTracing(): Promise<void> {
  const collector = await startCollector();
  const traced = (share: string): Settings => ({
    SHEAF_TRACING__ENABLED: 'true',
    SHEAF_TRACING__ENDPOINT: collector.url,
    SHEAF_TRACING__SAMPLE_SHARE: share,
  });
  // The second tells what two servers that are alike differ by.
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
      for (const { url } of servers) await fill(url);
      const searched = async (url: string): Promise<void> =>
        post(url, search.path, JSON.parse(search.body as string) as object, 200);
      await takeTurns(servers, tiny ? 1 : 10, TURN_SEARCHES, searched);
      const isSure = (costs: readonly Cost[][]): boolean =>
        costs.slice(1).every((cost) => verdictOf(moreThan(costs[0] as Cost[], cost, 'allUs')) !== UNSURE);
      tellCosts(
        kinds.map(([name]) => name),
        await takeTurns(servers, rounds, TURN_SEARCHES, searched, isSure),
      );
    },
  );
  collector.close();
}

const median = (values: number[]): number => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] as number;

const UNSURE = 'not sure yet';

const verdictOf = ({ low, high }: More): string => (high <= MORE_MAX ? 'yes' : low > MORE_MAX ? 'no' : UNSURE);

function tellCosts(names: readonly string[], costs: readonly Cost[][]): void {
  const [off] = costs as [Cost[]];
  const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
  const more = ({ median: middle, low, high }: More): string =>
    `${percent(middle)} (${percent(low)} to ${percent(high)})`;
  const middle = (cost: Cost[], of: keyof Cost): string => median(cost.map((one) => one[of])).toFixed(0);
  const rows = costs.map((cost, i) => [
    names[i] as string,
    middle(cost, 'frontUs'),
    middle(cost, 'allUs'),
    more(moreThan(off, cost, 'frontUs')),
    more(moreThan(off, cost, 'allUs')),
    i === 0 ? '' : verdictOf(moreThan(off, cost, 'allUs')),
  ]);
  printTable(
    `Searches by text in mode hybrid, ${whole(DOCUMENTS)} documents, 8 connections, ${off.length} turns of ${TURN_SEARCHES}: medians, with 99 % bounds`,
    [['', 'front µs a search', 'all threads µs', 'front, more than off', 'all, more than off', 'at most 3 %'], ...rows],
  );
  const us = countingUs();
  printTable('Counting one search for the metrics', [
    ['µs', 'of the front thread', 'of all threads'],
    [us.toFixed(2), ...(['frontUs', 'allUs'] as const).map((of) => percent(us / median(off.map((one) => one[of]))))],
  ]);
}

async function createCollections(url: string, from: number, to: number): Promise<void> {
  for (let n = from; n < to; n += CREATED_AT_A_TIME) {
    await Promise.all(
      Array.from({ length: Math.min(CREATED_AT_A_TIME, to - n) }, (_, i) =>
        post(url, `/v1/collections/t${(n + i) % 100}/c${n + i}`),
      ),
    );
  }
}

async function scrapes({ url, pid }: LoadServer): Promise<string[]> {
  let bytes = 0;
  const waits: number[] = [];
  const scrape = async (): Promise<void> => {
    const startedAtMs = performance.now();
    bytes = (await (await fetch(`${url}/metrics`)).text()).length;
    waits.push(performance.now() - startedAtMs);
  };
  for (let n = 0; n < SCRAPES / 4; n++) await scrape();
  waits.length = 0;
  const before = cpuMs(pid);
  for (let n = 0; n < SCRAPES; n++) await scrape();
  const after = cpuMs(pid);
  return [
    (spent(before, after, 'front', SCRAPES) / 1000).toFixed(2),
    (spent(before, after, 'all', SCRAPES) / 1000).toFixed(2),
    median(waits).toFixed(2),
    whole(bytes),
  ];
}

async function compareScrapes(): Promise<void> {
  await withFolder(async (folder) => {
    const server = await startServer(folder);
    await fill(server.url);
    await hammer({ url: server.url, connections: 4, seconds: 1, requests: [search] });
    const few = await scrapes(server);
    await createCollections(server.url, 0, manyCollections);
    const many = await scrapes(server);
    await server.kill();
    printTable(`A scrape of /metrics, mean of ${SCRAPES}`, [
      ['collections', 'front thread ms', 'all threads ms', 'answer p50 ms', 'bytes'],
      ['1', ...few],
      [whole(manyCollections + 1), ...many],
    ]);
  });
}

const PARTS: Readonly<Record<string, () => Promise<void>>> = { scrapes: compareScrapes, tracing: compareTracing };
const only = text('only');
if (only !== undefined && !PARTS[only]) throw new TypeError(`--only wants one of ${Object.keys(PARTS).join(', ')}`);
for (const [name, part] of Object.entries(PARTS)) if (only === undefined || only === name) await part();
