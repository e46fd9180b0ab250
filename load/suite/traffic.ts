// The requests of a workload, one behind the other as its shares have it, the same in each run.
// Used by the loops.
import { createPrng } from '../../src/base/prng.js';
import type { SentRequest } from '../kit/http-sender.js';
import type { Filled } from './fill.js';
import type { RequestKind } from './workload.js';

/**
 * After so many the traffic begins again, or after so many documents: each connection holds them all, with their
 * vectors.
 */
const ROUND = 500;
const ROUND_DOCUMENTS = 1000;

export interface Asked extends SentRequest {
  /** Of the kind, in the report. */
  readonly name: string;
  headers: Record<string, string>;
}

const nameOf = ({ name, kind, documents }: RequestKind): string =>
  name ?? (kind === 'ingest' ? `ingest of ${documents ?? 1}` : kind);

/** A round of requests; of kinds with shares a seeded draw. */
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
