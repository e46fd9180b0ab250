// `sheaf top`: what a server does at the moment, from its metrics, again every few seconds. On a terminal it draws over
// itself; elsewhere it prints one block after the other.
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type CommandLine,
  type ServerFlags,
  examples,
  integerBetween,
  numberBetween,
  serverOf,
  withInterrupt,
  withServer,
} from './command-line.js';
import { type Output, line, table } from './output.js';

/** Lines of metrics: the value by name and labels. */
export type Samples = ReadonlyMap<string, number>;

interface TopFlags extends ServerFlags {
  readonly interval: number;
  readonly count?: number;
}

export function addTopCommand({ program, env, output }: CommandLine): void {
  withServer(program.command('top'))
    .description('show what a server does at the moment, again every few seconds; needs the admin key')
    .option('--interval <seconds>', 'time between two looks', numberBetween(0.1, 3600), 2)
    .option('--count <n>', 'end after so many looks', integerBetween(1, 1_000_000))
    .addHelpText('after', examples('sheaf top', 'sheaf top --interval 10 --count 6'))
    .action(async ({ interval, count = Infinity, ...flags }: TopFlags) => {
      const { client } = serverOf(flags, env);
      const look = async (): Promise<{ samples: Samples; atMs: number }> => ({
        samples: samplesOf(await client.metricsText()),
        atMs: performance.now(),
      });
      await withInterrupt(async (signal) => {
        let before = await look();
        for (let shown = 0; shown < count; shown++) {
          await sleep(interval * 1000, undefined, { signal }).catch(() => undefined);
          if (signal.aborted || output.stdout.isClosed) return;
          const now = await look();
          show(linesOf(before.samples, now.samples, (now.atMs - before.atMs) / 1000), output);
          before = now;
        }
      });
    });
}

/** Moves to the top of the screen and clears what is below. */
const OVER = '\u001b[H\u001b[J';

function show(text: string, { stdout }: Output): void {
  if (stdout.isTTY) stdout.write(OVER);
  line(stdout, text);
}

/** The samples of a text in the format of Prometheus. */
export function samplesOf(text: string): Samples {
  const samples = new Map<string, number>();
  for (const each of text.split('\n')) {
    const at = each.lastIndexOf(' ');
    if (at > 0 && !each.startsWith('#')) samples.set(each.slice(0, at), Number(each.slice(at + 1)));
  }
  return samples;
}

const LABELS = /^([^{]+)(?:\{(.*)\})?$/;

/** The sum over all samples of a name whose labels contain all of these. */
function sumOf(samples: Samples, name: string, labels: readonly string[] = []): number {
  let sum = 0;
  for (const [key, value] of samples) {
    const [, own, given = ''] = LABELS.exec(key) ?? [];
    if (own === name && labels.every((label) => given.includes(label))) sum += value;
  }
  return sum;
}

/** A quantile of what a histogram has counted between two looks, in milliseconds; undefined if that is nothing. */
export function quantileMs(before: Samples, now: Samples, name: string, quantile: number): number | undefined {
  const counts = new Map<number, number>();
  for (const [key, value] of now) {
    const [, own, labels = ''] = LABELS.exec(key) ?? [];
    if (own !== `${name}_bucket`) continue;
    const bound = /le="([^"]+)"/.exec(labels)?.[1];
    const le = bound === '+Inf' ? Infinity : Number(bound);
    counts.set(le, (counts.get(le) ?? 0) + value - (before.get(key) ?? 0));
  }
  const bounds = [...counts].sort(([a], [b]) => a - b);
  const total = bounds.at(-1)?.[1] ?? 0;
  if (total <= 0) return undefined;
  const found = bounds.findIndex(([, count]) => count >= quantile * total);
  const [le = 0, count = 0] = bounds[found] ?? [];
  const [lower = 0, below = 0] = bounds[found - 1] ?? [];
  if (le === Infinity) return 1000 * lower;
  // As Prometheus does: as if the values of a bucket were spread evenly over it.
  return 1000 * (lower + ((le - lower) * (quantile * total - below)) / Math.max(1, count - below));
}

const whole = (value: number): string => Math.round(value).toLocaleString('en-US');
const megabytes = (bytes: number): string => `${whole(bytes / 1e6)} MB`;
const milliseconds = (ms: number | undefined): string => (ms === undefined ? '-' : ms.toFixed(ms < 10 ? 1 : 0));

/** What a look shows, `seconds` after the one before. */
export function linesOf(before: Samples, now: Samples, seconds: number): string {
  const value = (name: string, ...labels: string[]): number => sumOf(now, name, labels);
  const rate = (name: string, ...labels: string[]): number =>
    Math.max(0, sumOf(now, name, labels) - sumOf(before, name, labels)) / seconds;
  const latency = (name: string): [string, string, string] => [
    milliseconds(quantileMs(before, now, name, 0.5)),
    milliseconds(quantileMs(before, now, name, 0.95)),
    milliseconds(quantileMs(before, now, name, 0.99)),
  ];
  const version = /version="([^"]+)"/.exec(
    [...now.keys()].find((key) => key.startsWith('sheaf_build_info')) ?? '',
  )?.[1];
  const cores = rate('process_cpu_seconds_total');
  const upS = Date.now() / 1000 - value('process_start_time_seconds');
  const parts = [
    `Sheaf ${version ?? ''}, up ${whole(upS / 60)} min; CPU ${(100 * cores).toFixed(0)} % of a core, memory ${megabytes(value('process_resident_memory_bytes'))}, event loop p99 ${milliseconds(1000 * value('nodejs_eventloop_lag_p99_seconds'))} ms`,
    `${whole(value('sheaf_tenants'))} tenants, ${whole(value('sheaf_collections'))} collections, ${whole(value('sheaf_documents'))} documents, ${whole(value('sheaf_chunks'))} chunks; shards ${megabytes(value('sheaf_shard_memory_used_bytes'))}, stores ${megabytes(value('sheaf_store_used_bytes'))}`,
    '',
    table(
      ['', 'per second', 'p50 ms', 'p95 ms', 'p99 ms', 'now'],
      [
        [
          'requests',
          whole(rate('sheaf_requests_total')),
          ...latency('sheaf_http_request_duration_seconds'),
          `${whole(value('sheaf_requests_under_way'))} under way`,
        ],
        [
          'searches',
          whole(rate('sheaf_searches_total')),
          ...latency('sheaf_search_duration_seconds'),
          `${whole(value('sheaf_searches_under_way'))} under way`,
        ],
        [
          'documents stored',
          whole(rate('sheaf_documents_indexed_total')),
          ...latency('sheaf_ingest_duration_seconds'),
          '',
        ],
        [
          'commits',
          whole(rate('sheaf_store_commit_seconds_count')),
          ...latency('sheaf_store_commit_seconds'),
          `${whole(value('sheaf_queue_waiting'))} waiting in queues`,
        ],
        ['errors', whole(rate('sheaf_errors_total')), '', '', '', topErrors(before, now)],
      ],
    ),
    '',
    table(
      ['threads', 'number', 'busy'],
      poolsOf(now).map((pool) => {
        const threads = value('sheaf_pool_threads', `pool="${pool}"`);
        const busy = rate('sheaf_pool_busy_seconds_total', `pool="${pool}"`) / Math.max(1, threads);
        return [pool, whole(threads), `${(100 * busy).toFixed(0)} %`];
      }),
    ),
  ];
  const received = value('sheaf_cluster_received_messages');
  if (received > 0)
    parts.push(
      '',
      `cluster: message ${whole(received)}, ${whole(received - value('sheaf_cluster_applied_messages'))} behind${value('sheaf_cluster_fenced') ? ', takes no writes' : ''}; ${whole(rate('sheaf_cluster_searches_sent_total'))} searches a second sent, ${whole(rate('sheaf_cluster_searches_received_total'))} received`,
    );
  return parts.join('\n');
}

const poolsOf = (now: Samples): string[] =>
  [...now.keys()].flatMap((key) => /^sheaf_pool_threads\{pool="([^"]+)"\}$/.exec(key)?.[1] ?? []);

/** The codes of the errors since the look before, the most frequent first. */
function topErrors(before: Samples, now: Samples): string {
  const found = [...now].flatMap(([key, value]) => {
    const code = /^sheaf_http_errors_total\{code="([^"]+)"\}$/.exec(key)?.[1];
    const count = value - (before.get(key) ?? 0);
    return code !== undefined && count > 0 ? [{ code, count }] : [];
  });
  found.sort((a, b) => b.count - a.count);
  return found
    .slice(0, 3)
    .map(({ code, count }) => `${code} ${whole(count)}`)
    .join(', ');
}
