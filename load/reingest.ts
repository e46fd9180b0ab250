// What a second ingest of the same documents costs, with 1 chunk in 10 changed: Cranfield in one NDJSON request through
// the shared model, which embeds what has changed and takes the rest from the store; beside it the built-in embedder,
// which embeds all anew. node dist/load/reingest.js [--tiny]; seconds and texts embedded are printed, not judged.
import { resolve } from 'node:path';
import { createPrng } from '../src/base/prng.js';
import { SheafClient } from '../src/client/client.js';
import { printTable, readArguments, seconds, whole } from './kit/command.js';
import { type CranfieldDocument, dataFolder, hasCranfield, readCranfieldDocuments } from './kit/text-sets.js';
import { withServer, type Settings } from './kit/server.js';

/** Chunks that do not overlap: a change in one leaves the others as they are. */
const CHUNKING = { strategy: 'fixed', size: 800, overlap: 0 } as const;
const CHUNKS_CHANGED = 0.1;
/** Of which one document is made: about 20 chunks. */
const ABSTRACTS = 15;

const TARGET = { tenant: 'load', collection: 'reingest' };

const { tiny } = readArguments();

interface Ingested {
  chunks: number;
  embedded: number;
  tookMs: number;
}

function readDocuments(): CranfieldDocument[] {
  const abstracts = readCranfieldDocuments(tiny ? 2 * ABSTRACTS : undefined);
  const texts = Array.from({ length: Math.ceil(abstracts.length / ABSTRACTS) }, (_, i) =>
    abstracts.slice(i * ABSTRACTS, (i + 1) * ABSTRACTS),
  );
  return texts.map((some, i) => ({ docid: `D${i}`, text: some.map(({ text }) => text).join('\n') }));
}

/** Another character at the start of each chunk that changes. */
function revised({ docid, text }: CranfieldDocument, seed: number): CranfieldDocument {
  const prng = createPrng(seed);
  const chunks = text.match(/[^]{1,800}/g) ?? [];
  return { docid, text: chunks.map((chunk) => (prng.next() < CHUNKS_CHANGED ? `#${chunk.slice(1)}` : chunk)).join('') };
}

async function ingest(client: SheafClient, documents: readonly CranfieldDocument[]): Promise<Ingested> {
  const reusedBefore = await chunksReused(client);
  let chunks = 0;
  const startedAtMs = performance.now();
  for await (const result of client.ingestStream(TARGET.tenant, TARGET.collection, documents)) {
    if (!result.ok) throw new Error(`${result.code}: ${result.error}`);
    chunks += result.chunks ?? 0;
  }
  const tookMs = performance.now() - startedAtMs;
  return { chunks, embedded: chunks - ((await chunksReused(client)) - reusedBefore), tookMs };
}

async function chunksReused(client: SheafClient): Promise<number> {
  return Number(/^sheaf_chunks_reused_total (\d+)$/m.exec(await client.metricsText())?.[1]);
}

async function measured(embedder: string, settings: Settings): Promise<string[][]> {
  const documents = readDocuments();
  return withServer(
    undefined,
    async (url) => {
      const client = new SheafClient({ url });
      await client.createCollection(TARGET.tenant, TARGET.collection, { chunking: CHUNKING });
      const runs = { 'first time': documents, unchanged: documents, '1 chunk in 10 changed': documents.map(revised) };
      const rows: string[][] = [];
      for (const [name, corpus] of Object.entries(runs)) {
        const { chunks, embedded, tookMs } = await ingest(client, corpus);
        rows.push([embedder, name, whole(chunks), whole(embedded), seconds(tookMs)]);
      }
      return rows;
    },
    settings,
  );
}

const model = dataFolder('model-minilm-l6');
if (model !== undefined && hasCranfield()) {
  const rows = [
    ...(await measured('all-MiniLM-L6-v2', { SHEAF_EMBEDDER__MODEL: resolve(model) })),
    ...(await measured('built-in', {})),
  ];
  printTable('Ingest of Cranfield, then again', [['embedder', 'ingest', 'chunks', 'embedded', 'time'], ...rows]);
}
