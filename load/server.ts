// Seconds from the start of the server process until it is ready: on an empty data directory, and again with documents
// in it. And what the first document waits for the threads that start with it, beside one a second later, on three
// empty servers. node dist/load/start.js [--tiny]. The first start of a fresh clone also installs and builds: `time npm
// start` there.
import { setTimeout as sleep } from 'node:timers/promises';
import { SheafClient } from '../src/client/client.js';
import { printTable, readArguments, seconds, whole } from './kit/command.js';
import { hasCranfield, ingestCranfield, readCranfieldDocuments } from './kit/text-sets.js';
import { startServer, withFolder } from './kit/server.js';

const { tiny } = readArguments();
/** A server that is ready goes on with what nothing waits for. */
const SETTLE_MS = 1000;

await withFolder(async (folder) => {
  const first = await startServer(folder);
  const documents = hasCranfield() ? readCranfieldDocuments(tiny ? 20 : undefined) : [];
  const chunks = await ingestCranfield(new SheafClient({ url: first.url }), documents, 16);
  await first.stop();
  const second = await startServer(folder);
  await second.stop();
  printTable('Start until ready', [
    ['start', 'ready after'],
    ['first, empty data directory', seconds(first.readyMs)],
    [`second, ${whole(documents.length)} documents, ${whole(chunks)} chunks`, seconds(second.readyMs)],
    ['fresh clone, install and build', 'by hand: time npm start'],
  ]);
});

const SERVERS = tiny ? 1 : 3;
const rows: string[][] = [];
for (let n = 0; n < SERVERS; n++) {
  await withFolder(async (folder) => {
    const server = await startServer(folder);
    await sleep(tiny ? 0 : SETTLE_MS);
    const client = new SheafClient({ url: server.url });
    await client.createCollection('load', 'docs');
    const times: number[] = [];
    for (const docid of ['first', 'second']) {
      const startedAtMs = performance.now();
      await client.ingestText('load', 'docs', { docid, text: 'Captain Nemo commands the Nautilus.' });
      times.push(performance.now() - startedAtMs);
    }
    await server.kill();
    rows.push([String(n + 1), ...times.map((ms) => `${ms.toFixed(0)} ms`)]);
  });
}
printTable('Documents after a start, each answered when it is on disk', [
  ['server', 'first document', 'second'],
  ...rows,
]);
