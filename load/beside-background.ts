// Searches at a fixed rate beside what a server does in the background: archives, reindex jobs, checkpoints, each again
// and again without a pause. What each costs the searches, against the same searches beside nothing.
// node dist/load/beside-background.js [--rows 20000] [--rate 100] [--seconds 10] [--partitions N] [--only
// archives|jobs|checkpoints] [--tiny]
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SheafClient } from '../src/client/client.js';
import { printTable, readArguments, whole } from './kit/command.js';
import { type LoadServer, type Settings, archiveOnce, reindexOnce, startServer, withFolder } from './kit/server.js';
import { createVectorCollection, fillCollection, itemOf, post, untilResting, vectorQueries } from './kit/fill.js';
import { openLoop, type OpenLoopResult } from './kit/open-loop.js';
import { clustered } from './kit/vector-sets.js';

const [TENANT, NAME] = ['load', 'vectors'];
const { tiny, number, text } = readArguments('rows', 'rate', 'seconds', 'partitions', 'only');
const rows = number('rows', tiny ? 4500 : 20_000);
const rate = number('rate', tiny ? 20 : 100);
const measureSeconds = number('seconds', tiny ? 2 : 10);
/** Of parts smaller than a graph no checkpoint is written. */
const partitions = number('partitions', tiny ? 1 : 0);
const CHECKPOINT_WITHIN_MS = 60_000;
const only = text('only');
const SETTINGS: Settings = {
  SHEAF_CHECKPOINTS__INTERVAL_SECONDS: '86400',
  ...(partitions > 0 && { SHEAF_STORAGE__PARTITIONS: String(partitions) }),
};
const queries = vectorQueries().map((v) => JSON.stringify({ v, k: 10 }));
const written = clustered(2000, 384, 2).rows;
const base = (url: string): string => `${url}/v1/collections/${TENANT}/${NAME}`;

/** Something that the server is kept at, once; answers what came of it. */
type Work = (server: Running) => Promise<unknown>;

interface Running extends LoadServer {
  client: SheafClient;
  folder: string;
}

interface Row {
  name: string;
  result: OpenLoopResult;
  /** How often it was done meanwhile, and how long each took. */
  times: number;
  meanMs: number;
}

const search = async (url: string, n: number): Promise<void> =>
  void (await post(`${base(url)}/search`, queries[n % queries.length] as string, 200));

const archive: Work = ({ client }) => archiveOnce(client, TENANT, NAME);
const reindex: Work = ({ client }) => reindexOnce(client, TENANT, NAME);

/** A write, and the checkpoint of the shard that is written after it. */
async function checkpoint({ url, folder }: Running): Promise<void> {
  const before = checkpointsIn(folder);
  await post(`${base(url)}/documents:batch`, `{"documents":[${itemOf(written, 0)}]}`, 201);
  const startedAtMs = performance.now();
  for (; checkpointsIn(folder) === before; await sleep(20))
    if (performance.now() - startedAtMs > CHECKPOINT_WITHIN_MS) throw new Error('no checkpoint is written');
}

/** All manifests, one behind the other. */
function checkpointsIn(folder: string): string {
  const manifests = Array.from({ length: 64 }, (_, shard) =>
    join(folder, 'data', 'checkpoints', `shard-${shard}`, 'manifest.json'),
  );
  return manifests
    .map((path) => {
      try {
        return readFileSync(path, 'utf8');
      } catch {
        return '';
      }
    })
    .join();
}

async function beside(server: Running, name: string, work?: Work): Promise<Row> {
  let [isOver, times] = [false, 0];
  const working = (async () => {
    while (work && !isOver) {
      await work(server);
      times++;
    }
  })();
  const startedAtMs = performance.now();
  await sleep(work ? 200 : 0);
  const result = await openLoop(rate, measureSeconds, (n) => search(server.url, n));
  isOver = true;
  await working;
  return { name, result, times, meanMs: (performance.now() - startedAtMs) / Math.max(1, times) };
}

/** Until nothing is linked, merged or removed any more. */
async function resting({ url }: Running): Promise<void> {
  await untilResting(url, tiny ? 200 : 1000);
}

async function started(folder: string, settings: Settings): Promise<Running> {
  const server = await startServer(folder, settings);
  const running = { ...server, folder, client: new SheafClient({ url: server.url }) };
  await openLoop(rate, Math.min(3, measureSeconds), (n) => search(server.url, n).catch(() => undefined));
  return running;
}

function print(source: string, all: readonly Row[]): void {
  const [idle] = all as [Row];
  const cells = ({ name, result: { p50Ms, p99Ms, maxMs }, times, meanMs }: Row): string[] => {
    const told = times === 0 ? ['', ''] : [String(times), `${(meanMs / 1000).toFixed(2)} s`];
    return [
      name,
      p50Ms.toFixed(2),
      p99Ms.toFixed(2),
      maxMs.toFixed(1),
      (p99Ms / idle.result.p99Ms).toFixed(2),
      ...told,
    ];
  };
  printTable(`${whole(rate)} searches/s by vector over ${whole(rows)} × 384 (${source}), ${measureSeconds} s each`, [
    ['beside', 'p50 ms', 'p99 ms', 'max ms', 'p99 of idle', 'times', 'each'],
    ...all.map(cells),
  ]);
}

await withFolder(async (folder) => {
  let server = await started(folder, SETTINGS);
  await createVectorCollection(server.client, TENANT, NAME);
  const source = await fillCollection({ url: server.url, tenant: TENANT, name: NAME, rows });
  await resting(server);
  await openLoop(rate, Math.min(3, measureSeconds), (n) => search(server.url, n));
  const all = [await beside(server, 'nothing')];
  const wanted = (what: string): boolean => only === undefined || only === what;
  if (wanted('archives')) all.push(await beside(server, 'archives', archive));
  if (wanted('jobs')) all.push(await beside(server, 'reindex jobs', reindex));
  await resting(server);
  all.push(await beside(server, 'nothing, once more'));
  await server.kill();
  // One that is left by what was here before would be read, not written.
  rmSync(join(folder, 'data', 'checkpoints'), { recursive: true, force: true });
  server = await started(folder, { ...SETTINGS, SHEAF_CHECKPOINTS__INTERVAL_SECONDS: '1' });
  await resting(server);
  if (wanted('checkpoints')) all.push(await beside(server, 'checkpoints', checkpoint));
  await server.kill();
  print(source, all);
});
