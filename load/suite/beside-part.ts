// The open loop beside concurrent work of a workload: traffic in its own thread, reindex jobs, archives; and their
// effect on searches.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { archiveOnce, reindexOnce } from '../kit/server.js';
import type { ClosedLoopOptions, ClosedLoopResult } from '../kit/closed-loop.js';
import type { Filled } from './fill.js';
import type { Load, Say } from './load-part.js';
import { type Asked, type Loaded, scheduled, trafficOf } from './loops.js';
import { LATENCY_COLUMNS, latencyCells, latencyChart, latencyFigures, NOTHING, told, type Part } from './report.js';
import type { Target } from './target.js';
import type { Beside } from './workload.js';

const CONNECTIONS = 16;
/** The concurrent work starts this long before the loop. */
const LEAD_MS = 500;
const HAMMER = new URL('../kit/closed-loop-thread.js', import.meta.url);

interface Neighbour {
  name: string;
  loaded: Loaded;
  /** Description of the concurrent work. */
  done: string;
}

export async function besidePart(
  target: Target,
  beside: readonly Beside[],
  alone: Load,
  asked: readonly Asked[],
  filled: readonly Filled[],
  seconds: number,
  say: Say,
): Promise<Part> {
  const rate = alone.rate as number;
  const neighbours: Neighbour[] = [];
  for (const one of beside) {
    say(`${told(rate)} requests a second beside ${one.name}, ${seconds} s`);
    neighbours.push(await besideOne(target, one, filled, seconds, () => scheduled(target, asked, rate, seconds)));
  }
  return partOf(alone.loaded, neighbours);
}

/** Runs the loop beside one kind of work. */
export async function besideOne(
  target: Target,
  one: Beside,
  filled: readonly Filled[],
  seconds: number,
  loop: () => Promise<Loaded>,
): Promise<Neighbour> {
  const stop = one.kind === 'traffic' ? hammering(target, one, filled, seconds) : working(target, one, filled);
  await new Promise((resolve) => setTimeout(resolve, LEAD_MS));
  try {
    const loaded = await loop();
    return { name: one.name, loaded, done: await stop() };
  } catch (error) {
    // Otherwise jobs would follow each other on the server for as long as this process lives.
    await stop().catch(() => undefined);
    throw error;
  }
}

/** Traffic that ends by itself. It runs in its own thread, so that it does not delay the loop. */
function hammering(
  { url, headers }: Target,
  { traffic = [], connections = CONNECTIONS }: Beside,
  filled: readonly Filled[],
  seconds: number,
): () => Promise<string> {
  const workerData: ClosedLoopOptions = {
    url,
    connections,
    seconds: Math.ceil(seconds) + 1,
    requests: trafficOf(traffic, filled, headers),
    tolerant: true,
  };
  const worker = new Worker(HAMMER, { workerData });
  const message = once(worker, 'message') as Promise<[ClosedLoopResult]>;
  // A failure is reported when the result is awaited.
  message.catch(() => undefined);
  return async () => {
    const [{ requestsPerSecond, failed }] = await message;
    return `${told(requestsPerSecond)} answers/s${failed > 0 ? `, ${failed} failed` : ''}`;
  };
}

function working(target: Target, { kind, collection }: Beside, filled: readonly Filled[]): () => Promise<string> {
  const { tenant, name } = (filled.find(({ fill }) => fill.name === collection) ?? filled[0]!).collections[0]!;
  const work = (): Promise<void> =>
    kind === 'reindex' ? reindexOnce(target.client, tenant, name) : archiveOnce(target.client, tenant, name);
  let [isOver, times] = [false, 0];
  const startedAtMs = performance.now();
  const done = (async () => {
    for (; !isOver; times++) await work();
  })();
  // A failure is reported when the result is awaited, so that it does not interrupt the loop.
  done.catch(() => undefined);
  return async () => {
    isOver = true;
    await done;
    return `${times} times, ${told((performance.now() - startedAtMs) / 1000 / times)} s each`;
  };
}

function partOf(alone: Loaded, neighbours: readonly Neighbour[]): Part {
  if (neighbours.length === 0) return NOTHING;
  const all: Neighbour[] = [{ name: 'nothing', loaded: alone, done: '' }, ...neighbours];
  const rows = all.map(({ name, loaded, done }) => [
    name,
    told(loaded.perSecond),
    ...latencyCells(loaded),
    told(loaded.p99Ms / alone.p99Ms),
    told(loaded.failed),
    done,
  ]);
  return {
    figures: neighbours.flatMap(({ name, loaded }) => [
      ...latencyFigures(loaded, `beside ${name}`),
      {
        name: `p99 beside ${name}, of alone`,
        value: loaded.p99Ms / alone.p99Ms,
        unit: 'times',
        better: 'lower' as const,
      },
    ]),
    tables: [
      {
        title: 'Latency on schedule, beside',
        columns: ['beside', 'answers/s', ...LATENCY_COLUMNS, 'p99 of alone', 'failed', 'done meanwhile'],
        rows,
      },
    ],
    charts: [
      latencyChart(
        'Latency beside',
        all.map(({ name, loaded }) => ({ name, latencies: loaded })),
      ),
    ],
  };
}
