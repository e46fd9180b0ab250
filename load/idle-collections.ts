// What collections cost that nobody asks: the memory of each that is the process's own, and how long the start takes,
// with thousands of a hundred vectors: by the clock, and in processor time of all threads, which other work on the
// machine does not move. node dist/load/idle-collections.js [--collections N] [--chunks N] [--kept FOLDER] [--tiny]. A
// server of its own, filled, left alone, ended and started again. A kept folder is filled once and stays.
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SheafClient } from '../src/client/client.js';
import { printTable, readArguments, seconds, whole } from './kit/command.js';
import { cpuMs, privateBytes } from './kit/server-usage.js';
import { startServer, withFolder } from './kit/server.js';
import { batchesOf, createVectorCollection, vectorItems } from './kit/fill.js';

const { tiny, number, text } = readArguments('collections', 'chunks', 'kept');
const kept = text('kept');
const collections = number('collections', tiny ? 20 : 10_000);
const chunks = number('chunks', tiny ? 10 : 100);
const { items, source } = vectorItems(chunks);
const [body = ''] = batchesOf(items, chunks);
const LANES = 16;
const headers = { 'content-type': 'application/json' };
/** Nothing is looked for, so nothing is kept beside. */
const SETTINGS = { SHEAF_QUERY_LOG__ENABLED: 'false', SHEAF_COLLECTIONS__IDLE_SECONDS: '10' };
/** Longer than what is idle for ten seconds takes to leave. */
const LEAVING_MS = 60_000;

async function fill(url: string): Promise<void> {
  const client = new SheafClient({ url });
  let next = 0;
  await Promise.all(
    Array.from({ length: LANES }, async () => {
      for (let i = next++; i < collections; i = next++) {
        await createVectorCollection(client, `t${i % 100}`, `c${i}`);
        const { status } = await fetch(`${url}/v1/collections/t${i % 100}/c${i}/documents:batch`, {
          method: 'POST',
          headers,
          body,
        });
        if (status !== 201) throw new Error(`status ${status}`);
      }
    }),
  );
}

interface Reading {
  readyMs: number;
  startCpuMs: number;
  bytes: number;
}

/** Of a server that is started, looked at, and ended. */
async function started(folder: string): Promise<Reading> {
  const server = await startServer(folder, SETTINGS);
  const reading = {
    readyMs: server.readyMs,
    startCpuMs: cpuMs(server.pid)?.all ?? NaN,
    bytes: privateBytes(server.pid),
  };
  await server.stop();
  return reading;
}

/** What it is called, and the memory it has a minute later, when all of it is idle. */
async function filled(folder: string): Promise<[string, number]> {
  const server = await startServer(folder, SETTINGS);
  const startedAtMs = performance.now();
  await fill(server.url);
  const name = `filled in ${seconds(performance.now() - startedAtMs)}, then idle`;
  await sleep(tiny ? 0 : LEAVING_MS);
  const bytes = privateBytes(server.pid);
  await server.stop();
  return [name, bytes];
}

async function measure(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const before = existsSync(join(folder, 'data')) ? undefined : await filled(folder);
  const empty = await withFolder(started);
  const full = await started(folder);
  const megabytes = (bytes: number): string => `${whole(bytes / 2 ** 20)} MB`;
  const each = (bytes: number): string => `${((bytes - empty.bytes) / collections / 1024).toFixed(1)} KB`;
  printTable(`${whole(collections)} collections of ${chunks} vectors each (${source})`, [
    ['', 'ready after', 'CPU of it', 'own memory', 'a collection'],
    ['empty', seconds(empty.readyMs), seconds(empty.startCpuMs), megabytes(empty.bytes), ''],
    ...(before === undefined ? [] : [[before[0], '', '', megabytes(before[1]), each(before[1])]]),
    ['started again', seconds(full.readyMs), seconds(full.startCpuMs), megabytes(full.bytes), each(full.bytes)],
  ]);
}

await (kept === undefined ? withFolder(measure) : measure(kept));
