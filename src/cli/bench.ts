// `sheaf bench`: a quick measurement of how fast a running server answers searches. The programs in load/ are for
// reports and comparisons.
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createHistogram } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { VectorSample } from '../api/recall.js';
import { SheafUnreachable, errorOf } from '../client/errors.js';
import { causeOf } from '../client/transport.js';
import { encodePath } from '../client/url.js';
import { type BenchShare, type Counts, type Load, runSearches } from './bench-run.js';
import { EXIT, type Target, withInterrupt } from './command-line.js';
import { UsageError, reasonOf } from './errors.js';
import { type Output, count, duration, line } from './output.js';

export interface BenchOptions extends Load {
  queries?: string;
  /** Threads that share the connections and the rate. */
  threads: number;
  json?: true;
}

const QUERIES_MAX = 500;
const QUERY_WORDS = 6;
const DOCUMENTS_ASKED = 50;

/**
 * Exit code: 1 if a search failed, 130 after Ctrl-C, which ends it early. Throws UsageError if there are no queries.
 */
export async function bench(target: Target, options: BenchOptions, { stdout, stderr }: Output): Promise<number> {
  const [queries, source] =
    options.encoding === undefined
      ? await queriesFor(target, options.queries)
      : [await sampledVectors(target), 'vectors'];
  if (queries.length === 0)
    throw new UsageError(
      options.encoding === undefined
        ? `${target.tenant}/${target.collection} has no logged searches and no texts: provide a file of queries with --queries.`
        : `${target.tenant}/${target.collection} has no vectors.`,
    );
  line(
    stderr,
    `${count(queries.length, 'query')} from ${source}, ${options.rate ? `${options.rate} searches/s` : count(options.connections, 'connection')}, ${duration(options.seconds)}`,
  );
  const { tenant, collection, access } = target;
  const shares = sharesOf({ place: { tenant, collection, access }, queries, load: options }, options.threads);
  return withInterrupt(async (signal) => {
    const measured = measuredOf(await inThreads(shares, signal));
    line(stdout, options.json ? JSON.stringify(measured, null, 2) : summaryOf(measured));
    if (signal.aborted) return EXIT.interrupted;
    return measured.failed > 0 || measured.searches === 0 ? EXIT.failed : EXIT.done;
  });
}

async function queriesFor(target: Target, file: string | undefined): Promise<[string[], string]> {
  if (file !== undefined) {
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      throw new UsageError(`${file}: ${reasonOf(error)}. Name a file with one query per line.`);
    });
    return [
      text
        .split('\n')
        .map((each) => each.trim())
        .filter(Boolean),
      file,
    ];
  }
  const { client, tenant, collection } = target;
  const { queries } = await client.queries.list(tenant, collection, { limit: QUERIES_MAX });
  const logged = [...new Set(queries.map(({ query_text: text }) => text).filter((text) => text.trim() !== ''))];
  return logged.length > 0 ? [logged, 'the query log'] : [await wordsOfDocuments(target), 'its documents'];
}

/** Stored vectors, as the plots of the console get them: rounded to eight bits, so near others and equal to none. */
async function sampledVectors({ tenant, collection, access: { url, key } }: Target): Promise<Float32Array[]> {
  const address = `${url.replace(/\/+$/, '')}${encodePath(['v1', 'collections', tenant, collection, 'vectors'])}`;
  const response = await fetch(address, { headers: key ? { authorization: `Bearer ${key}` } : {} }).catch(
    (error: Error) => {
      throw new SheafUnreachable(url, causeOf(error));
    },
  );
  const text = await response.text();
  if (!response.ok) throw errorOf(response, text);
  const { vectors } = JSON.parse(text) as VectorSample;
  return vectors.map(({ scale, components }) =>
    Float32Array.from(Int8Array.from(Buffer.from(components, 'base64')), (component) => component * scale),
  );
}

async function wordsOfDocuments({ client, tenant, collection }: Target): Promise<string[]> {
  const { documents } = await client.listDocuments(tenant, collection, { limit: DOCUMENTS_ASKED });
  const texts = await Promise.all(
    documents.map(async ({ docid }) => {
      const { chunks } = await client.listChunks(tenant, collection, docid, { limit: 1 });
      return chunks[0] ? client.chunkContent(tenant, collection, chunks[0].rid).catch(() => '') : '';
    }),
  );
  return texts.map((text) => text.split(/\s+/).slice(0, QUERY_WORDS).join(' ').trim()).filter(Boolean);
}

function summaryOf({
  searches,
  failed,
  seconds,
  per_second: rate,
  latency_ms: latency,
  server_ms: server,
  errors,
}: Measured): string {
  const phases = Object.entries(server)
    .map(([phase, ms]) => `${phase} ${ms.toFixed(2)}`)
    .join(', ');
  const lines = [
    `${count(searches, 'search')} in ${duration(seconds)}: ${rate.toFixed(0)} searches/s`,
    `latency   p50 ${ms(latency.p50)}  p90 ${ms(latency.p90)}  p99 ${ms(latency.p99)}  longest ${ms(latency.max)}`,
    `on the server, mean ms: ${phases || 'not reported'}`,
  ];
  return [
    ...lines,
    ...(failed > 0
      ? [
          `${failed} failed: ${Object.entries(errors)
            .map(([code, n]) => `${n} ${code}`)
            .join(', ')}`,
        ]
      : []),
  ].join('\n');
}

const ms = (value: number): string => `${value.toFixed(value < 10 ? 2 : 0)} ms`;

interface Measured {
  searches: number;
  failed: number;
  seconds: number;
  per_second: number;
  /** Of successful searches, as measured by this program. */
  latency_ms: { p50: number; p90: number; p99: number; max: number; mean: number };
  /** Means of the phases that the server reports. */
  server_ms: Record<string, number>;
  /** Number of failures by code. */
  errors: Record<string, number>;
}

/** What each of the threads is to do. */
function sharesOf({ place, queries, load }: BenchShare, wanted: number): BenchShare[] {
  const { connections, rate } = load;
  const threads = Math.min(wanted, connections);
  return Array.from({ length: threads }, (_, i) => ({
    place,
    // Not the same queries at the same time.
    queries: [...queries.slice(i % queries.length), ...queries.slice(0, i % queries.length)],
    load: {
      ...load,
      connections: Math.floor(connections / threads) + (i < connections % threads ? 1 : 0),
      ...(rate !== undefined && { rate: rate / threads }),
    },
  }));
}

/** The first share is this thread's. Rejects as `runSearches` does. */
async function inThreads([own, ...others]: readonly BenchShare[], signal: AbortSignal): Promise<Counts[]> {
  const ending = new AbortController();
  const workers = others.map(
    (share) =>
      new Worker(fileURLToPath(new URL('../../workers/bench/worker.js', import.meta.url)), { workerData: share }),
  );
  const counted = workers.map(async (worker) => ((await once(worker, 'message')) as [Counts])[0]);
  const end = (): void => {
    ending.abort();
    for (const worker of workers) worker.postMessage('end');
  };
  signal.addEventListener('abort', end, { once: true });
  // What fails in all threads is told by this one, whose errors have their types.
  const settled = Promise.allSettled(counted);
  try {
    const counts = await runSearches(own as BenchShare, ending.signal);
    return [counts, ...(await Promise.all(counted))];
  } finally {
    signal.removeEventListener('abort', end);
    end();
    await settled;
  }
}

const US_PER_MS = 1000;

function measuredOf(all: readonly Counts[]): Measured {
  const [histogram, phases, errors] = [createHistogram(), new Map<string, number>(), new Map<string, number>()];
  const [searches, failed, seconds] = [
    sumOf(all, 'succeeded'),
    sumOf(all, 'failed'),
    sumOf(all, 'seconds') / all.length,
  ];
  for (const counts of all) {
    if (counts.histogram.count > 0) histogram.add(counts.histogram);
    for (const [phase, sum] of counts.phases) phases.set(phase, (phases.get(phase) ?? 0) + sum);
    for (const [code, number] of Object.entries(counts.errors)) errors.set(code, (errors.get(code) ?? 0) + number);
  }
  const requests = histogram.count;
  const at = (percentile: number): number => histogram.percentile(percentile) / US_PER_MS;
  const latency =
    requests === 0
      ? { p50: 0, p90: 0, p99: 0, max: 0, mean: 0 }
      : { p50: at(50), p90: at(90), p99: at(99), max: histogram.max / US_PER_MS, mean: histogram.mean / US_PER_MS };
  return {
    searches,
    failed,
    seconds,
    per_second: searches / seconds,
    latency_ms: latency,
    server_ms: Object.fromEntries([...phases].map(([phase, sum]) => [phase.replace(/_ms$/, ''), sum / requests])),
    errors: Object.fromEntries(errors),
  };
}

const sumOf = (all: readonly Counts[], what: 'succeeded' | 'failed' | 'seconds'): number =>
  all.reduce((sum, counts) => sum + counts[what], 0);
