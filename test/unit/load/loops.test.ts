// The loops of the load suite: how a workload's shares divide its requests, and that the open loop keeps its rate
// whatever the answers do.
import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { type Filled, sourceOf } from '../../../load/suite/fill.js';
import { type Asked, saturated, scheduled, trafficOf } from '../../../load/suite/loops.js';
import { Target, phasesOf } from '../../../load/suite/target.js';

const fill = { name: 'docs', of: 'vectors', documents: 50, dim: 4 } as const;
const FILLED: Filled = {
  fill,
  source: sourceOf(fill),
  collections: [
    { tenant: 't', name: 'one' },
    { tenant: 't', name: 'two' },
  ],
  seconds: 1,
  spent: undefined,
};

async function serve(listener: RequestListener): Promise<Target> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  after(() => void server.close().closeAllConnections());
  return Target.open({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, folder: '' });
}

const ask = (path: string): Asked => ({ name: path, method: 'GET', path, headers: {} });

test('requests come in the shares of their kinds, over all collections, the same each time', () => {
  const kinds = [
    { kind: 'search', share: 85, body: { k: 7 } },
    { kind: 'read', share: 10 },
    { kind: 'ingest', share: 5, documents: 2 },
  ] as const;
  const asked = trafficOf(kinds, [FILLED], { authorization: 'Bearer key' });
  assert.deepEqual(trafficOf(kinds, [FILLED], { authorization: 'Bearer key' }), asked);
  const count = (name: string): number => asked.filter((one) => one.name === name).length;
  assert.ok(asked.length === 500 && count('search') > 390 && count('read') > 25 && count('ingest of 2') > 10);
  assert.deepEqual(new Set(asked.map(({ path }) => path.split('/')[4])), new Set(['one', 'two']));
  const search = JSON.parse(asked.find(({ name }) => name === 'search')!.body!) as { v: number[]; k: number };
  assert.ok(search.v.length === 4 && search.k === 7);
  const { documents } = JSON.parse(asked.find(({ name }) => name === 'ingest of 2')!.body!) as {
    documents: { docid: string; vector: number[] }[];
  };
  assert.ok(
    documents.length === 2 && documents.every(({ docid, vector }) => /^V\d+$/.test(docid) && vector.length === 4),
  );
  assert.ok(asked.every(({ headers }) => headers.authorization === 'Bearer key'));
});

test('a round of large batches is short, as each connection holds it', () => {
  assert.equal(trafficOf([{ kind: 'ingest', documents: 200 }], [FILLED], {}).length, 5);
  assert.equal(trafficOf([{ kind: 'ingest', documents: 5000 }], [FILLED], {}).length, 1);
});

test('the open loop sends what is due though nothing is answered', async () => {
  const waiting: (() => void)[] = [];
  const target = await serve((_request, response) => {
    waiting.push(() => void response.end());
    if (waiting.length === 20) for (const answer of waiting) answer();
  });
  const { requests, failed, maxMs, byKind } = await scheduled(target, [ask('/')], 200, 0.1);
  assert.deepEqual([requests, failed, byKind.size], [20, 0, 0]);
  assert.ok(maxMs > 0);
});

test('what is refused is counted in both loops, and its latency is not', async () => {
  const target = await serve((request, response) => void response.writeHead(request.url === '/bad' ? 503 : 200).end());
  const { requests, failed, byKind } = await scheduled(target, [ask('/good'), ask('/bad'), ask('/other')], 300, 0.1);
  assert.deepEqual([requests, failed, [...byKind.keys()]], [30, 10, ['/good', '/other']]);
  const closed = await saturated(target, [ask('/bad')], 2, 1);
  assert.ok(closed.failed > 0 && closed.perSecond === 0 && Number.isNaN(closed.p50Ms));
});

test('phases are means over all searches, those without a phase too', () => {
  const grown: Record<string, number> = {
    sheaf_search_duration_seconds_sum: 0.8,
    sheaf_search_duration_seconds_count: 4,
    'sheaf_search_phase_seconds_sum{phase="embed"}': 0.1,
    'sheaf_search_phase_seconds_count{phase="embed"}': 2,
    'sheaf_search_phase_seconds_sum{phase="search"}': 0.4,
    'sheaf_search_phase_seconds_count{phase="search"}': 4,
    'sheaf_http_request_duration_seconds_sum{route="/v1/collections/{tenant}/{name}/search"}': 1,
    'sheaf_http_request_duration_seconds_count{route="/v1/collections/{tenant}/{name}/search"}': 4,
    'sheaf_http_request_duration_seconds_sum{route="/health"}': 9,
    'sheaf_http_request_duration_seconds_count{route="/health"}': 1,
  };
  assert.deepEqual(
    phasesOf('search', (name) => grown[name] ?? 0, Object.keys(grown)),
    {
      count: 4,
      httpMs: 250,
      wholeMs: 200,
      phases: [
        { name: 'embed', meanMs: 25 },
        { name: 'search', meanMs: 100 },
      ],
    },
  );
});
