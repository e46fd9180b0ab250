// The two ways to put a load on a server: as fast as a number of connections carry it (autocannon), which tells its
// throughput; and on a schedule, whatever the answers do, which tells what its users wait. Used by load-part.ts and
// beside-part.ts.
import { hammer } from '../kit/hammer.js';
import { HttpSender } from '../kit/http-sender.js';
import { latenciesOf, type Latencies } from '../kit/latencies.js';
import { onSchedule } from '../kit/open-loop.js';
import type { Target } from './target.js';
import type { Asked } from './traffic.js';

export interface Loaded extends Latencies {
  /** Answers that are 2xx, a second. */
  perSecond: number;
  requests: number;
  /** Answered otherwise, or not at all. */
  failed: number;
  /** Latencies by the kind of request, where there are several and the loop can tell. */
  byKind: ReadonlyMap<string, Latencies & { requests: number }>;
}

export async function closedLoop(
  target: Target,
  asked: readonly Asked[],
  connections: number,
  seconds: number,
): Promise<Loaded> {
  const { requests, requestsPerSecond, failed, ...latencies } = await hammer({
    url: target.url,
    connections,
    seconds,
    requests: [...asked],
    tolerant: true,
  });
  return { ...latencies, perSecond: requestsPerSecond, requests: requests + failed, failed, byKind: new Map() };
}

/** Latency counts from when a request was due, of the answers that are 2xx. */
export async function scheduled(
  target: Target,
  asked: readonly Asked[],
  rate: number,
  seconds: number,
): Promise<Loaded> {
  const sender = new HttpSender(target.url);
  const byKind = new Map<string, number[]>(asked.map(({ name }) => [name, []]));
  let failed = 0;
  const startedAtMs = performance.now();
  await onSchedule(rate, seconds, async (n, sinceMs) => {
    const request = asked[n % asked.length] as Asked;
    const status = await sender.send(request).catch(() => 0);
    if (status >= 200 && status < 300) byKind.get(request.name)?.push(performance.now() - sinceMs);
    else failed++;
  });
  const took = Math.max(seconds, (performance.now() - startedAtMs) / 1000);
  sender.close();
  const all = [...byKind.values()].flat();
  const kinds = [...byKind]
    .filter(([, values]) => values.length > 0)
    .map(([name, values]) => [name, { requests: values.length, ...latenciesOf(values) }] as const);
  return {
    ...latenciesOf(all),
    perSecond: all.length / took,
    requests: all.length + failed,
    failed,
    byKind: new Map(kinds.length > 1 ? kinds : []),
  };
}
