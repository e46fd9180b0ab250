// Searches by text through the shared model, on 4 connections, alone and beside a bulk ingest of the same tenant that
// embeds at full speed: what the ingest costs the searches. No text comes twice, neither to search nor to ingest.
// node dist/load/search-beside-ingest.js [--tiny] [--seconds 10] [--url URL]
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { SheafClient } from '../src/client/client.js';
import { printTable, readArguments, whole } from './kit/command.js';
import {
  CRANFIELD_TARGET,
  type CranfieldDocument,
  hasCranfield,
  ingestCranfield,
  modelSettings,
  readCranfieldDocuments,
  readCranfieldQueries,
  variantsOf,
} from './kit/text-sets.js';
import { hammer, type CannonRequest, type HammerOptions, type HammerResult } from './kit/closed-loop.js';
import { withGains } from './kit/server-usage.js';
import { withServer } from './kit/server.js';
import { batchesOf } from './kit/fill.js';

const SEARCHES = 4;
const INGESTS = 4;
const BATCH = 4;
const BATCHES = 2000;
/** The ingest is under way before the searches are measured. */
const LEAD_MS = 2000;
const { tiny, url: given, number } = readArguments('seconds');
const measureSeconds = number('seconds', tiny ? 2 : 10);
const { tenant, collection } = CRANFIELD_TARGET;

const post = (path: string, body: string): CannonRequest => ({
  method: 'POST',
  path: `/v1/collections/${tenant}/${path}`,
  headers: { 'content-type': 'application/json' },
  body,
});

/** Batches into another collection; no chunk has the text of another. */
function bulk(documents: readonly CranfieldDocument[]): CannonRequest[] {
  const items = Array.from({ length: BATCHES * BATCH }, (_, n) => {
    const { text } = documents[n % documents.length] as CranfieldDocument;
    return JSON.stringify({ docid: `D${n}`, text: `${text.replace(/(?:\S+\s+){30}/g, `$&${n} `)} ${n}` });
  });
  return batchesOf(items, BATCH).map((body) => post('bulk/documents:batch', body));
}

interface Beside {
  searches: HammerResult;
  /** Texts embedded a second by the ingest. */
  rate: number;
}

/** Searches while a thread of this process ingests; its connections end a while after them. */
async function beside(url: string, requests: CannonRequest[], search: () => Promise<HammerResult>): Promise<Beside> {
  const workerData: HammerOptions = {
    url,
    connections: INGESTS,
    seconds: measureSeconds + Math.ceil(LEAD_MS / 1000) + 1,
    requests,
  };
  const done = once(new Worker(new URL('./kit/closed-loop-thread.js', import.meta.url), { workerData }), 'message');
  await sleep(LEAD_MS);
  const { result: searches, gained } = await withGains(url, search);
  await done;
  return {
    searches,
    rate: gained('sheaf_embedder_call_texts_sum{embedder="model",kind="documents"}') / measureSeconds,
  };
}

const settings = modelSettings();
if (settings && hasCranfield()) {
  await withServer(
    given,
    async (url) => {
      const documents = readCranfieldDocuments(tiny ? 50 : undefined);
      const chunks = await ingestCranfield(new SheafClient({ url }), documents, 16);
      const variants = variantsOf(readCranfieldQueries());
      const unseen = {
        ...post('', ''),
        setupRequest: () => post(`${collection}/search`, JSON.stringify({ q: variants.next().value, k: 10 })),
      };
      const search = (): Promise<HammerResult> =>
        hammer({ url, connections: SEARCHES, seconds: measureSeconds, requests: [unseen] });
      await search();
      const alone = await search();
      const { searches, rate } = await beside(url, bulk(documents), search);
      const row = (name: string, { requestsPerSecond, p50Ms, p99Ms }: HammerResult, texts: string): string[] => [
        name,
        whole(requestsPerSecond),
        p50Ms.toFixed(2),
        p99Ms.toFixed(2),
        (p99Ms / alone.p99Ms).toFixed(2),
        texts,
      ];
      printTable(
        `Search by text through the model, ${whole(chunks)} chunks, ${SEARCHES} connections, ${measureSeconds} s each`,
        [
          ['beside', 'searches/s', 'p50 ms', 'p99 ms', 'p99 of alone', 'chunks embedded/s'],
          row('nothing', alone, ''),
          row(`batches of ${BATCH} on ${INGESTS} connections`, searches, whole(rate)),
        ],
      );
    },
    settings,
  );
}
