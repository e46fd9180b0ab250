// The requests of a workload in a deterministic sequence by their shares, and two ways to apply load: a closed loop
// (autocannon) for throughput, and an open loop on a schedule for the latency that users see.
import { createPrng } from '../../src/base/prng.js';
import { type Latencies, closedLoop, latenciesOf } from '../kit/closed-loop.js';
import { HttpSender, type SentRequest, onSchedule } from '../kit/open-loop.js';
import type { Filled } from './fill.js';
import type { Target } from './target.js';
import type { RequestKind } from './workload.js';

/**
 * Number of requests or documents after which traffic repeats: each connection holds all of them with their vectors.
 */
const ROUND = 500;
const ROUND_DOCUMENTS = 1000;

export interface Asked extends SentRequest {
  /** Name of the kind in the report. */
  readonly name: string;
  headers: Record<string, string>;
}

const nameOf = ({ name, kind, documents }: RequestKind): string =>
  name ?? (kind === 'ingest' ? `ingest of ${documents ?? 1}` : kind);

/** A round of requests; kinds with shares are drawn by a seed. */
export function trafficOf(
  kinds: readonly RequestKind[],
  filled: readonly Filled[],
  headers: Readonly<Record<string, string>>,
): Asked[] {
  const prng = createPrng(1);
  const total = kinds.reduce((sum, { share = 1 }) => sum + share, 0);
  const draw = (): RequestKind => {
    let left = prng.next() * total;
    return kinds.find(({ share = 1 }) => (left -= share) < 0) ?? (kinds[0] as RequestKind);
  };
  const documents = kinds.reduce(
    (sum, { kind, share = 1, documents: some = 1 }) => sum + (kind === 'ingest' ? (some * share) / total : 0),
    0,
  );
  return Array.from({ length: Math.max(1, Math.min(ROUND, Math.floor(ROUND_DOCUMENTS / documents))) }, (_, n) => {
    const kind = draw();
    const place = filled.find(({ fill }) => fill.name === kind.collection) ?? (filled[0] as Filled);
    return {
      name: nameOf(kind),
      ...requestOf(kind, place, n, prng.int),
      headers: { 'content-type': 'application/json', ...headers },
    };
  });
}

function requestOf(
  { kind, body = {}, documents = 1 }: RequestKind,
  { source, fill, collections }: Filled,
  n: number,
  int: (below: number) => number,
): SentRequest {
  const { tenant, name } = collections[n % collections.length]!;
  const path = `/v1/collections/${tenant}/${name}`;
  const row = int(fill.documents);
  if (kind === 'health') return { method: 'GET', path: '/health' };
  if (kind === 'read') return { method: 'GET', path: `${path}/documents/${source.docid(row)}` };
  if (kind === 'search')
    return {
      method: 'POST',
      path: `${path}/search`,
      body: `{${[source.query(n), ...Object.entries(body).map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`)].join(',')}}`,
    };
  const items = Array.from({ length: documents }, (_, i) => source.item((row + i) % fill.documents));
  return { method: 'POST', path: `${path}/documents:batch`, body: `{"documents":[${items.join(',')}]}` };
}

export interface Loaded extends Latencies {
  /** 2xx answers per second. */
  perSecond: number;
  requests: number;
  /** Requests with another status or without an answer. */
  failed: number;
  /** Latencies by kind of request, if there are several and the loop can distinguish them. */
  byKind: ReadonlyMap<string, Latencies & { requests: number }>;
}

export async function saturated(
  target: Target,
  asked: readonly Asked[],
  connections: number,
  seconds: number,
): Promise<Loaded> {
  const { requests, requestsPerSecond, failed, ...latencies } = await closedLoop({
    url: target.url,
    connections,
    seconds,
    requests: [...asked],
    tolerant: true,
  });
  return { ...latencies, perSecond: requestsPerSecond, requests: requests + failed, failed, byKind: new Map() };
}

/** Runs the open loop. Only 2xx answers count; latency counts from when a request was due. */
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
