// What collections cost that nobody asks: memory of each, and how long the start takes, with thousands of a hundred vectors: by the clock, and
// in processor time of all threads, which other work on the machine does not move.
// node dist/load/idle-collections.js [--collections N] [--chunks N] [--tiny]. A server of its own, filled, ended and started again.
import { SheafClient } from '../src/client/client.js';
import { readArguments } from './kit/arguments.js';
import { cpuMs } from './kit/process-cpu.js';
import { printTable, seconds, whole } from './kit/report.js';
import { startServer, withFolder, type LoadServer } from './kit/server.js';
import { batchesOf, createVectorCollection, vectorItems } from './kit/vector-batches.js';

const { tiny, number } = readArguments('collections', 'chunks');
const collections = number('collections', tiny ? 20 : 10_000);
const chunks = number('chunks', tiny ? 10 : 100);
const { items, source } = vectorItems(chunks);
const [body = ''] = batchesOf(items, chunks);
const LANES = 16;
const headers = { 'content-type': 'application/json' };
/** Nothing is looked for, so nothing is kept beside. */
const SETTINGS = { SHEAF_QUERY_LOG__ENABLED: 'false' };

async function fill(url: string): Promise<void> {
  const client = new SheafClient({ url });
  let next = 0;
  await Promise.all(Array.from({ length: LANES }, async () => {
    for (let i = next++; i < collections; i = next++) {
      await createVectorCollection(client, `t${i % 100}`, `c${i}`);
      const { status } = await fetch(`${url}/v1/collections/t${i % 100}/c${i}/documents:batch`, { method: 'POST', headers, body });
      if (status !== 201) throw new Error(`status ${status}`);
    }
  }));
}

/** Memory that the server's process has resident. */
async function residentBytes(url: string): Promise<number> {
  const text = await new SheafClient({ url }).metricsText();
  return Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1]);
}

const startCpu = ({ pid }: LoadServer): string => seconds(cpuMs(pid)?.all ?? NaN);

await withFolder(async (folder) => {
  const empty = await startServer(folder, SETTINGS);
  const emptyCpu = startCpu(empty);
  const emptyBytes = await residentBytes(empty.url);
  const startedAtMs = performance.now();
  await fill(empty.url);
  const filledMs = performance.now() - startedAtMs;
  const filledBytes = await residentBytes(empty.url);
  await empty.stop();
  const full = await startServer(folder, SETTINGS);
  const fullCpu = startCpu(full);
  const fullBytes = await residentBytes(full.url);
  await full.stop();
  const each = (bytes: number): string => `${((bytes - emptyBytes) / collections / 1024).toFixed(1)} KB`;
  printTable(`${whole(collections)} collections of ${chunks} vectors each (${source})`, [
    ['', 'ready after', 'CPU of it', 'resident', 'a collection'],
    ['empty', seconds(empty.readyMs), emptyCpu, `${whole(emptyBytes / 2 ** 20)} MB`, ''],
    [`filled, in ${seconds(filledMs)}`, '', '', `${whole(filledBytes / 2 ** 20)} MB`, each(filledBytes)],
    ['started again', seconds(full.readyMs), fullCpu, `${whole(fullBytes / 2 ** 20)} MB`, each(fullBytes)],
  ]);
});
