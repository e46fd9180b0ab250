// Seconds from the start of the server process until it is ready: on an empty data directory, and again with documents in it.
// node dist/load/start.js [--tiny]. The first start of a fresh clone also installs and builds: `time npm start` there.
import { SheafClient } from '../src/client/client.js';
import { readArguments } from './kit/arguments.js';
import { hasCranfield, ingestCranfield, readCranfieldDocuments } from './kit/cranfield.js';
import { printTable, seconds, whole } from './kit/report.js';
import { startServer, withFolder } from './kit/server.js';

const { tiny } = readArguments();

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
