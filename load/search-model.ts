// Searches by text through the shared model, on the Cranfield collection, at 1, 16 and 64 connections: with texts that
// the server has not seen, and with texts whose vectors it has, beside each other; and how much of a search the
// embedding takes. node dist/load/search-model.js [--tiny] [--seconds 10] [--url URL]
import { SheafClient } from '../src/client/client.js';
import { printTable, readArguments, whole } from './kit/command.js';
import {
  CRANFIELD_TARGET,
  hasCranfield,
  ingestCranfield,
  modelSettings,
  readCranfieldDocuments,
  readCranfieldQueries,
  searchCranfield,
  variantsOf,
} from './kit/text-sets.js';
import { hammer, type CannonRequest, type HammerResult } from './kit/closed-loop.js';
import { withGains, type Gained } from './kit/server-usage.js';
import { withServer } from './kit/server.js';

const CONNECTIONS = [1, 16, 64];
const K = 10;
const { tiny, url: given, number } = readArguments('seconds');
const measureSeconds = number('seconds', tiny ? 1 : 10);
const warmUpSeconds = tiny ? 1 : 2;

const post = (q: string): CannonRequest => searchCranfield({ q, k: K });

interface Measured extends HammerResult {
  embedShare: number;
  hitRate: number;
}

async function measure(url: string, connections: number, requests: CannonRequest[]): Promise<Measured> {
  await hammer({ url, connections, seconds: warmUpSeconds, requests });
  const { result, gained } = await withGains(url, () =>
    hammer({ url, connections, seconds: measureSeconds, requests }),
  );
  const embedShare =
    gained('sheaf_search_phase_seconds_sum{phase="embed"}') / gained('sheaf_search_duration_seconds_sum');
  return { ...result, embedShare, hitRate: hitRateOf(gained) };
}

function hitRateOf(gained: Gained): number {
  const hits = gained('sheaf_query_cache_hits_total');
  return hits / (hits + gained('sheaf_query_cache_misses_total'));
}

/** Sends each text once. */
async function warm(url: string, queries: readonly string[]): Promise<void> {
  const client = new SheafClient({ url });
  for (const q of queries) await client.search(CRANFIELD_TARGET.tenant, CRANFIELD_TARGET.collection, { q, k: K });
}

const row = (
  connections: number,
  texts: string,
  { requestsPerSecond, p50Ms, p99Ms, embedShare, hitRate }: Measured,
): string[] => [
  String(connections),
  texts,
  whole(requestsPerSecond),
  p50Ms.toFixed(2),
  p99Ms.toFixed(2),
  embedShare.toFixed(2),
  hitRate.toFixed(2),
];

const settings = modelSettings();
if (settings && hasCranfield()) {
  await withServer(
    given,
    async (url) => {
      const chunks = await ingestCranfield(new SheafClient({ url }), readCranfieldDocuments(tiny ? 50 : undefined), 16);
      const queries = readCranfieldQueries();
      const variants = variantsOf(queries);
      const unseen = { ...post(''), setupRequest: () => post(variants.next().value) };
      const rows: string[][] = [];
      for (const connections of CONNECTIONS) {
        rows.push(row(connections, 'new', await measure(url, connections, [unseen])));
        await warm(url, queries);
        rows.push(row(connections, 'cached', await measure(url, connections, queries.map(post))));
      }
      const head = ['connections', 'texts', 'requests/s', 'p50 ms', 'p99 ms', 'share of embed_ms', 'hit rate'];
      printTable(`Search by text through the model, ${whole(chunks)} chunks, k ${K}, ${measureSeconds} s each`, [
        head,
        ...rows,
      ]);
    },
    settings,
  );
}
