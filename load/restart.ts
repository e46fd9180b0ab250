// Seconds from the start of the server's process until it is ready, and its first search, with many vectors: after
// SIGTERM, after kill -9, and after kill -9 behind writes that no checkpoint has; and what searches notice of
// checkpoints that are written beside them. node dist/load/restart.js [--rows 100000] [--rate 50] [--seconds 10]
// [--kept FOLDER] [--tiny]. A kept folder is filled once and stays.
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { SheafClient } from '../src/client/client.js';
import { printTable, readArguments, seconds, whole } from './kit/command.js';
import { createVectorCollection, fillCollection, itemOf, post, untilResting, vectorQueries } from './kit/fill.js';
import { openLoop, type OpenLoopResult } from './kit/open-loop.js';
import { cpuSeconds } from './kit/server-usage.js';
import { startServer, withFolder, type LoadServer, type Settings } from './kit/server.js';
import { clustered } from './kit/vector-sets.js';

const [TENANT, NAME] = ['load', 'vectors'];
const { tiny, number, text } = readArguments('rows', 'rate', 'seconds', 'kept');
const kept = text('kept');
const rows = number('rows', tiny ? 4500 : 100_000);
const rate = number('rate', tiny ? 20 : 50);
const measureSeconds = number('seconds', tiny ? 1 : 10);
/** Replaced before the last kill. */
const CHANGED_SHARE = 0.01;
const SELDOM: Settings = {
  SHEAF_CHECKPOINTS__INTERVAL_SECONDS: '86400',
  SHEAF_QUERY_LOG__ENABLED: 'false',
  ...(tiny && { SHEAF_STORAGE__PARTITIONS: '1' }),
};
const OFTEN: Settings = { ...SELDOM, SHEAF_CHECKPOINTS__INTERVAL_SECONDS: '1' };
const queries = vectorQueries().map((v) => JSON.stringify({ v, k: 10 }));
const source = clustered(2000, 384, 2).rows;

const search = async (url: string, n: number): Promise<void> =>
  void (await post(`${url}/v1/collections/${TENANT}/${NAME}/search`, queries[n % queries.length] as string, 200));

const resting = (url: string): Promise<void> => untilResting(url, tiny ? 300 : 2000);

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAtMs = performance.now();
  await work();
  return performance.now() - startedAtMs;
}

type Row = [name: string, ready: string, cpu: string, first: string, tenth: string];

/** Starts it and asks; what it answers first comes from a process that has just begun. */
async function restarted(folder: string, name: string): Promise<{ server: LoadServer; row: Row }> {
  const server = await startServer(folder, SELDOM);
  const cpu = await cpuSeconds(server.url);
  const firstMs = await timed(() => search(server.url, 0));
  for (let n = 1; n < 9; n++) await search(server.url, n);
  const tenthMs = await timed(() => search(server.url, 9));
  return {
    server,
    row: [name, seconds(server.readyMs), seconds(cpu * 1000), `${firstMs.toFixed(1)} ms`, `${tenthMs.toFixed(1)} ms`],
  };
}

async function replaceSome(url: string): Promise<number> {
  const count = Math.ceil(CHANGED_SHARE * rows);
  for (let from = 0; from < count; from += 200) {
    const items = Array.from({ length: Math.min(200, count - from) }, (_, i) => itemOf(source, from + i));
    await post(`${url}/v1/collections/${TENANT}/${NAME}/documents:batch`, `{"documents":[${items.join(',')}]}`, 201);
  }
  return count;
}

/** A write a second, so that there is always something to be kept. */
async function measured(folder: string, settings: Settings): Promise<OpenLoopResult> {
  const server = await startServer(folder, settings);
  await resting(server.url);
  await openLoop(rate, 2, (n) => search(server.url, n));
  let row = 0;
  const trickle = setInterval(
    () =>
      void post(
        `${server.url}/v1/collections/${TENANT}/${NAME}/documents:batch`,
        `{"documents":[${itemOf(source, row++)}]}`,
        201,
      ).catch(() => {}),
    1000,
  );
  const result = await openLoop(rate, measureSeconds, (n) => search(server.url, n));
  clearInterval(trickle);
  await server.kill();
  return result;
}

/** Answers what it is filled with, and how long that took. */
async function fill(folder: string): Promise<string> {
  const server = await startServer(folder, SELDOM);
  await createVectorCollection(new SheafClient({ url: server.url }), TENANT, NAME);
  let vectors = '';
  const fillMs = await timed(
    async () => (vectors = await fillCollection({ url: server.url, tenant: TENANT, name: NAME, rows })),
  );
  const linkMs = await timed(() => resting(server.url));
  const stopMs = await timed(() => server.stop());
  return `${vectors}; filled in ${seconds(fillMs)}, linked after ${seconds(linkMs)} more, stopped in ${seconds(stopMs)}`;
}

async function emptyRow(): Promise<Row> {
  return withFolder(async (folder) => {
    const server = await startServer(folder, SELDOM);
    const cpu = await cpuSeconds(server.url);
    await server.stop();
    return ['empty', seconds(server.readyMs), seconds(cpu * 1000), '', ''];
  });
}

async function measure(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const content = existsSync(join(folder, 'data')) ? 'filled before' : await fill(folder);
  const table: Row[] = [['start', 'ready after', 'processor time', 'first search', 'tenth search'], await emptyRow()];
  const afterStop = await restarted(folder, 'after SIGTERM');
  await afterStop.server.kill();
  const afterKill = await restarted(folder, 'after kill -9');
  const changed = await replaceSome(afterKill.server.url);
  await afterKill.server.kill();
  const behind = await restarted(folder, `after kill -9 behind ${whole(changed)} replacements`);
  await behind.server.stop();
  table.push(afterStop.row, afterKill.row, behind.row);
  printTable(`Restart with ${whole(rows)} × 384 (${content})`, table);
  const [idle, beside] = [await measured(folder, SELDOM), await measured(folder, OFTEN)];
  const told = (name: string, { p50Ms, p99Ms, maxMs }: OpenLoopResult): string[] => [
    name,
    p50Ms.toFixed(2),
    p99Ms.toFixed(2),
    maxMs.toFixed(1),
    (p99Ms / idle.p99Ms).toFixed(2),
  ];
  printTable(`${rate} searches/s, ${measureSeconds} s each`, [
    ['beside', 'p50 ms', 'p99 ms', 'max ms', 'p99 of idle'],
    told('a write a second', idle),
    told('and checkpoints without a pause', beside),
  ]);
}

await (kept === undefined ? withFolder(measure) : measure(kept));
