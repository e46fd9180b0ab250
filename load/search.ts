// Searches over HTTP as fast as 32 connections carry them, on the Cranfield collection: as text (with embedding), as
// ready vectors of the same queries, in the modes that look at words, and filtered; beside /health as the most this
// server and this client could do.
// node dist/load/search.js [--tiny] [--seconds 10] [--url URL]
import { SheafClient } from '../src/client/client.js';
import { loadBuiltinEmbedder } from '../src/embedding/builtin/embedder.js';
import { printTable, readArguments, whole } from './kit/command.js';
import {
  hasCranfield,
  ingestCranfield,
  readCranfieldDocuments,
  readCranfieldQueries,
  searchCranfield,
} from './kit/text-sets.js';
import { hammer, type CannonRequest, type HammerResult } from './kit/closed-loop.js';
import { withServer } from './kit/server.js';

const CONNECTIONS = 32;
const K = 10;
const { tiny, url: given, number } = readArguments('seconds');
const measureSeconds = number('seconds', tiny ? 1 : 10);
const warmUpSeconds = tiny ? 1 : 2;

const post = (body: object): CannonRequest => searchCranfield({ ...body, k: K });

function vectorsOf(queries: readonly string[]): number[][] {
  const { dim, embed } = loadBuiltinEmbedder();
  const vectors = embed(queries);
  return queries.map((_, i) => Array.from(vectors.subarray(i * dim, (i + 1) * dim)));
}

async function measure(url: string, requests: CannonRequest[]): Promise<HammerResult> {
  await hammer({ url, connections: CONNECTIONS, seconds: warmUpSeconds, requests });
  return hammer({ url, connections: CONNECTIONS, seconds: measureSeconds, requests });
}

if (hasCranfield()) {
  await withServer(given, async (url) => {
    const chunks = await ingestCranfield(new SheafClient({ url }), readCranfieldDocuments(tiny ? 50 : undefined), 16);
    const queries = readCranfieldQueries();
    const health = await measure(url, [{ method: 'GET', path: '/health' }]);
    const text = await measure(
      url,
      queries.map((q) => post({ q })),
    );
    const vector = await measure(
      url,
      vectorsOf(queries).map((v) => post({ v })),
    );
    const boost = await measure(
      url,
      queries.map((q) => post({ q, mode: 'boost' })),
    );
    const hybrid = await measure(
      url,
      queries.map((q) => post({ q, mode: 'hybrid' })),
    );
    const filtered = await measure(
      url,
      queries.map((q) => post({ q, filters: { docid: { $prefix: '13' } } })),
    );
    const row = (name: string, { requestsPerSecond, p50Ms, p99Ms }: HammerResult): string[] => [
      name,
      whole(requestsPerSecond),
      p50Ms.toFixed(2),
      p99Ms.toFixed(2),
      (requestsPerSecond / health.requestsPerSecond).toFixed(2),
    ];
    printTable(
      `Search over HTTP, ${whole(chunks)} chunks, k ${K}, ${CONNECTIONS} connections, ${measureSeconds} s each`,
      [
        ['workload', 'requests/s', 'p50 ms', 'p99 ms', 'of /health'],
        row('GET /health', health),
        row('search by text', text),
        row('search by vector', vector),
        row('mode boost', boost),
        row('mode hybrid', hybrid),
        row('text, a filter that one in thirteen fits', filtered),
      ],
    );
  });
}
