// Ingest of the Cranfield collection over HTTP: one document a request, a number of requests under way.
// node dist/load/ingest.js [--tiny] [--concurrency 32] [--url URL]; documents and seconds are printed, not judged.
import { SheafClient } from '../src/client/client.js';
import { printTable, readArguments, seconds, whole } from './kit/command.js';
import { hasCranfield, ingestCranfield, readCranfieldDocuments } from './kit/text-sets.js';
import { withServer } from './kit/server.js';

const { tiny, url: given, number } = readArguments('concurrency');
const concurrency = number('concurrency', 32);

if (hasCranfield()) {
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
