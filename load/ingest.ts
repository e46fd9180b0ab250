// Ingest over HTTP, where each document is durable and searchable when it is acknowledged: texts and vectors, first and
// repeated ingest, and text extraction from files.
import { readFileSync } from 'node:fs';
import { createPrng } from '../src/base/prng.js';
import { SheafClient } from '../src/client/client.js';
import { extract } from '../src/extract/extract.js';
import { kindOfFile } from '../src/extract/file-kind.js';
import { type LoadOptions, printTable, seconds, whole } from './kit/command.js';
import { batchesOf, createVectorCollection, vectorItems } from './kit/fill.js';
import { type Settings, withServer } from './kit/server.js';
import {
  type CranfieldDocument,
  dataFolder,
  hasCranfield,
  ingestCranfield,
  modelSettings,
  readCranfieldDocuments,
} from './kit/text-sets.js';

const TENANT = 'load';

/** The Cranfield collection, one document per request, with several requests at a time. */
export async function texts({ tiny, url: given, number }: LoadOptions): Promise<void> {
  const concurrency = number('concurrency', 32);
  if (!hasCranfield()) return;
  await withServer(given, async (url) => {
    const documents = readCranfieldDocuments(tiny ? 50 : undefined);
    const startedAtMs = performance.now();
    const chunks = await ingestCranfield(new SheafClient({ url }), documents, concurrency);
    const tookMs = performance.now() - startedAtMs;
    printTable(`Ingest of Cranfield, ${concurrency} requests under way`, [
      ['documents', 'chunks', 'time', 'documents/s', 'chunks/s'],
      [
        whole(documents.length),
        whole(chunks),
        seconds(tookMs),
        whole((documents.length * 1000) / tookMs),
        whole((chunks * 1000) / tookMs),
      ],
    ]);
  });
}

interface Way {
  readonly name: string;
  /** How many of the vectors are sent. */
  readonly count: number;
  /** The path after the address of the documents. */
  readonly path?: string;
  readonly type?: string;
  readonly bodies: readonly string[];
  readonly concurrency: number;
}

/**
 * 384-dimensional vectors: one per request, in JSON batches, and as one NDJSON stream, each into its own collection.
 */
export async function vectors({ tiny, url: given, number }: LoadOptions): Promise<void> {
  const { source, items } = vectorItems(number('vectors', tiny ? 200 : 8000));
  const ways = waysOf(items, number('size', tiny ? 50 : 500));
  await withServer(given, async (url) => {
    const client = new SheafClient({ url });
    const rows: string[][] = [['workload', 'vectors', 'time', 'vectors/s']];
    for (const [i, way] of ways.entries()) {
      await createVectorCollection(client, TENANT, `batch-${i}`);
      const startedAtMs = performance.now();
      await send(`${url}/v1/collections/${TENANT}/batch-${i}/documents`, way);
      const tookMs = performance.now() - startedAtMs;
      rows.push([way.name, whole(way.count), seconds(tookMs), whole((way.count * 1000) / tookMs)]);
    }
    printTable(`Ingest of 384-d vectors over HTTP (${source}), durable`, rows);
  });
}

function waysOf(items: readonly string[], size: number): Way[] {
  const count = items.length;
  const few = Math.ceil(count / 8);
  const batches = { count, path: ':batch', bodies: batchesOf(items, size) };
  return [
    { name: 'one a request, one after the other', count: few, bodies: items.slice(0, few), concurrency: 1 },
    { name: 'one a request, 32 under way', count, bodies: items, concurrency: 32 },
    { name: `JSON batches of ${size}, one after the other`, ...batches, concurrency: 1 },
    { name: `JSON batches of ${size}, 4 under way`, ...batches, concurrency: 4 },
    {
      name: 'one NDJSON request',
      count,
      path: ':batch',
      type: 'application/x-ndjson',
      bodies: [items.join('\n')],
      concurrency: 1,
    },
  ];
}

/** Throws if an answer is not 201 or reports a failure. */
async function send(
  documents: string,
  { path = '', type = 'application/json', bodies, concurrency }: Way,
): Promise<void> {
  const queue = bodies.values();
  const work = async (): Promise<void> => {
    for (const body of queue) {
      const response = await fetch(`${documents}${path}`, { method: 'POST', body, headers: { 'content-type': type } });
      const text = await response.text();
      if (response.status !== 201 || text.includes('"ok":false'))
        throw new Error(`${response.status}: ${text.slice(0, 500)}`);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
}

/** Chunks without overlap, so that a change in one leaves the others unchanged. */
const CHUNKING = { strategy: 'fixed', size: 800, overlap: 0 } as const;
const CHUNKS_CHANGED = 0.1;
/** Number of abstracts joined to one document of about 20 chunks. */
const ABSTRACTS = 15;
const REINGESTED = 'reingest';

/**
 * Cost of ingesting the same documents again with 1 chunk in 10 changed: Cranfield in one NDJSON request through the
 * shared model, which embeds only changed chunks and takes the rest from the store; and with the built-in embedder,
 * which embeds everything again.
 */
export async function again({ tiny }: LoadOptions): Promise<void> {
  const settings = modelSettings();
  if (settings === undefined || !hasCranfield()) return;
  const documents = longDocuments(readCranfieldDocuments(tiny ? 2 * ABSTRACTS : undefined));
  printTable('Ingest of Cranfield, then again', [
    ['embedder', 'ingest', 'chunks', 'embedded', 'time'],
    ...(await ingestAgain('all-MiniLM-L6-v2', settings, documents)),
    ...(await ingestAgain('built-in', {}, documents)),
  ]);
}

const longDocuments = (abstracts: readonly CranfieldDocument[]): CranfieldDocument[] =>
  Array.from({ length: Math.ceil(abstracts.length / ABSTRACTS) }, (_, i) => {
    const some = abstracts.slice(i * ABSTRACTS, (i + 1) * ABSTRACTS);
    return { docid: `D${i}`, text: some.map(({ text }) => text).join('\n') };
  });

/** Changes a character at the start of each changed chunk. */
function revised({ docid, text }: CranfieldDocument, seed: number): CranfieldDocument {
  const prng = createPrng(seed);
  const chunks = text.match(/[^]{1,800}/g) ?? [];
  return { docid, text: chunks.map((chunk) => (prng.next() < CHUNKS_CHANGED ? `#${chunk.slice(1)}` : chunk)).join('') };
}

function ingestAgain(
  embedder: string,
  settings: Settings,
  documents: readonly CranfieldDocument[],
): Promise<string[][]> {
  const ingests = { 'first time': documents, unchanged: documents, '1 chunk in 10 changed': documents.map(revised) };
  return withServer(
    undefined,
    async (url) => {
      const client = new SheafClient({ url });
      await client.createCollection(TENANT, REINGESTED, { chunking: CHUNKING });
      const rows: string[][] = [];
      for (const [name, some] of Object.entries(ingests)) {
        const { chunks, embedded, tookMs } = await ingestStream(client, some);
        rows.push([embedder, name, whole(chunks), whole(embedded), seconds(tookMs)]);
      }
      return rows;
    },
    settings,
  );
}

interface Ingested {
  chunks: number;
  embedded: number;
  tookMs: number;
}

async function ingestStream(client: SheafClient, documents: readonly CranfieldDocument[]): Promise<Ingested> {
  const reusedBefore = await chunksReused(client);
  let chunks = 0;
  const startedAtMs = performance.now();
  for await (const result of client.ingestStream(TENANT, REINGESTED, documents)) {
    if (!result.ok) throw new Error(`${result.code}: ${result.error}`);
    chunks += result.chunks ?? 0;
  }
  const tookMs = performance.now() - startedAtMs;
  return { chunks, embedded: chunks - ((await chunksReused(client)) - reusedBefore), tookMs };
}

async function chunksReused(client: SheafClient): Promise<number> {
  return Number(/^sheaf_chunks_reused_total (\d+)$/m.exec(await client.metricsText())?.[1]);
}

const EXTRACT_OPTIONS = {
  csv: { header: 'auto' as const, metaColumns: '', includeColumns: '' },
  textBytesMax: 2 ** 28,
  memoryBytesMax: 2 ** 30,
};
const FILES = [
  'pdf-text/tracemonkey.pdf',
  'pdf-text/freeculture.pdf',
  'pdf-text/GeoTopo-komprimiert.pdf',
  'html/wikipedia-2.html',
  'docx/pandoc_tables.docx',
  'csv/world-cities.csv',
];
const FEW_FILES = ['pdf-text/multicolumn.pdf', 'html/bbc-1.html'];

/**
 * Text extraction by one batch thread: pages of PDF, rows of CSV, and MB/s; real files of ../shared/data/files if
 * present.
 */
export async function files({ tiny, number }: LoadOptions): Promise<void> {
  const table: string[][] = [['file', 'size', 'units', 'time', 'units/s', 'MB/s']];
  const folder = dataFolder('files');
  for (const name of folder ? ['pdf-text/pdfkit.pdf', ...(tiny ? FEW_FILES : FILES)] : [])
    table.push(await extracted(name, readFileSync(`${folder}/${name}`)));
  const rows = Array.from(
    { length: tiny ? 1000 : number('rows', 100_000) },
    (_, i) => `${i},name ${i},"Oslo, Norway",${i / 7},a short note`,
  );
  table.push(await extracted('generated.csv', Buffer.from(['id,name,city,amount,note', ...rows].join('\n'))));
  printTable('Text out of files, one thread; the first PDF loads the library', table);
}

async function extracted(name: string, bytes: Uint8Array): Promise<string[]> {
  const kind = kindOfFile(name, '', bytes.subarray(0, 8192));
  if (kind === undefined) throw new Error(`${name} is of no type`);
  const sizeMb = bytes.length / 1e6;
  const startedAtMs = performance.now();
  const content = await extract(bytes, kind, EXTRACT_OPTIONS);
  const tookMs = performance.now() - startedAtMs;
  const units = content.kind === 'units' ? content.units.length : 1;
  return [
    name,
    `${sizeMb.toFixed(2)} MB`,
    whole(units),
    seconds(tookMs),
    whole((units * 1000) / tookMs),
    ((sizeMb * 1000) / tookMs).toFixed(1),
  ];
}
