// Searches over HTTP with questions of 3, 20 and 60 words, by words alone, by vector and in mode hybrid, over the
// documents of the judged collections in chunks of the default size, with the built-in embedder: as fast as 32
// connections carry them, and one after the other; with the processor time of a request in the server. How good the
// answers are tells load/long-queries.ts. node dist/load/query-lengths.js [--tiny] [--seconds 10] [--url URL]
import { setTimeout as sleep } from 'node:timers/promises';
import { SheafClient } from '../src/client/client.js';
import { printTable, readArguments, whole } from './kit/command.js';
import { type JudgedDocument, dataFolder, firstWords, readJudged } from './kit/text-sets.js';
import { hammer, type CannonRequest } from './kit/closed-loop.js';
import { passageOf, SEARCH_MODES } from './kit/judged-searches.js';
import { cpuSeconds } from './kit/server-usage.js';
import { withServer } from './kit/server.js';

const COLLECTIONS = ['cranfield', 'scifact', 'npl-vaswani'];
const MODES = ['words alone', 'vector', 'hybrid', 'hybrid of scores'];
const LENGTHS = [3, 20, 60];
const CONNECTIONS = [32, 1];
const TENANT = 'load';
const NAME = 'texts';
const K = 10;
/** More than a cache of query vectors would make equal to each other. */
const QUESTIONS = 5000;
/** Two shards link at least so many vectors a second; what waits for its links is scanned by every search. */
const LINKED_PER_SECOND = 1500;

const { tiny, url: given, number } = readArguments('seconds');
const measureSeconds = number('seconds', tiny ? 1 : 10);
const warmUpSeconds = tiny ? 1 : 2;

/** All collections in one; their ids are made to differ. */
const readDocuments = (): JudgedDocument[] =>
  COLLECTIONS.flatMap((name) => {
    const folder = dataFolder(name);
    const documents = folder ? readJudged(folder, tiny ? 50 : Infinity, 0).documents : [];
    return documents.map((document) => ({ ...document, _id: `${name}-${document._id}` }));
  });

async function ingest(client: SheafClient, documents: readonly JudgedDocument[]): Promise<number> {
  const items = documents
    .map((document) => ({ docid: document._id, text: passageOf(document).trim() }))
    .filter(({ text }) => text !== '');
  let chunks = 0;
  for await (const result of client.ingestStream(TENANT, NAME, items)) {
    if (!result.ok) throw new Error(`${result.code}: ${result.error}`);
    chunks += result.chunks ?? 0;
  }
  return chunks;
}

/** The beginnings of texts that have so many words, evenly spread. */
function questionsOf(documents: readonly JudgedDocument[], words: number): string[] {
  const long = documents.map(passageOf).filter((text) => text.trim().split(/\s+/).length >= words);
  const step = Math.max(1, long.length / QUESTIONS);
  return Array.from({ length: Math.min(QUESTIONS, long.length) }, (_, i) =>
    firstWords(long[Math.floor(i * step)] as string, words),
  );
}

/** One after the other, made when it is sent: to make all of them for each connection would hold up the first. */
function searches(questions: readonly string[], mode: string): CannonRequest {
  let asked = 0;
  return {
    ...search('', mode),
    setupRequest: () => search(questions[asked++ % questions.length] as string, mode),
  };
}

const search = (q: string, mode: string): CannonRequest => ({
  method: 'POST',
  path: `/v1/collections/${TENANT}/${NAME}/search`,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ ...SEARCH_MODES[mode], q, k: K }),
});

async function measure(url: string, connections: number, request: CannonRequest): Promise<string[]> {
  const requests = [request];
  await hammer({ url, connections, seconds: warmUpSeconds, requests });
  const before = await cpuSeconds(url);
  const result = await hammer({ url, connections, seconds: measureSeconds, requests });
  const cpuMs = (1000 * ((await cpuSeconds(url)) - before)) / result.requests;
  return [whole(result.requestsPerSecond), result.p50Ms.toFixed(2), result.p99Ms.toFixed(2), cpuMs.toFixed(2)];
}

const documents = readDocuments();
if (documents.length > 0) {
  await withServer(given, async (url) => {
    const client = new SheafClient({ url });
    const chunks = await ingest(client, documents);
    await sleep((1000 * chunks) / LINKED_PER_SECOND);
    const rows: string[][] = [];
    for (const words of LENGTHS) {
      const questions = questionsOf(documents, words);
      for (const mode of MODES) {
        const request = searches(questions, mode);
        for (const connections of CONNECTIONS)
          rows.push([String(words), mode, String(connections), ...(await measure(url, connections, request))]);
      }
    }
    printTable(`Search over HTTP, ${whole(chunks)} chunks, k ${K}, ${measureSeconds} s each`, [
      ['words a query', 'mode', 'connections', 'requests/s', 'p50 ms', 'p99 ms', 'CPU ms a request'],
      ...rows,
    ]);
  });
}
