// Random operations of several tenants, those of the torture program, against a model in memory, in one process, which
// starts its server anew now and then: how much is compared, and how fast. node dist/load/operations.js [--operations
// 200000] [--restarts 20] [--minutes M] [--seed S] [--tiny]. Exit code 1 on any violation.
import { createPrng } from '../src/base/prng.js';
import type { Log } from '../src/base/log.js';
import { SheafClient } from '../src/client/client.js';
import { readConfig } from '../src/config/load.js';
import { startServer } from '../src/cli/serve.js';
import { printTable, readArguments, seconds, whole } from './kit/command.js';
import { withFolder, type Settings } from './kit/server.js';
import { type Work, checkAll, endJobs, workUntil } from './torture/run.js';
import { keepEvidence } from './torture/evidence.js';
import { counted, emptyTally, printViolations, withSpaces } from './torture/writer.js';
import { createSlots } from './torture/model.js';

const { tiny, number } = readArguments('operations', 'restarts', 'minutes', 'seed');
const operations = number('operations', tiny ? 1_500 : 200_000);
const restarts = number('restarts', tiny ? 2 : 20);
const seed = number('seed', 1);
/** It ends with the restart after this time at the latest. */
const untilMs = performance.now() + 60_000 * number('minutes', 24 * 60);
const SHARDS = 2;
const SETTINGS = { SHEAF_SERVER__PORT: '0', SHEAF_STORAGE__PARTITIONS: String(SHARDS), SHEAF_THREADS: '1' };
const tally = emptyTally();
const slots = createSlots(3, 4);
const prng = createPrng(seed);
const isOver = (): boolean => performance.now() > untilMs || tally.violations.length > 0;
const done = (): number => [...tally.operations.values()].reduce((sum, count) => sum + count, 0);

/** With the server in this process, until so many operations have been done in all. */
async function round(folder: string, spaces: Settings, until: number): Promise<void> {
  const faults: string[] = [];
  const log: Log = {
    debug: () => {},
    info: () => {},
    warn: () => {},
    error: (fields, message) => faults.push(`${message} ${JSON.stringify(fields)}`),
  };
  const server = await startServer(readConfig({ ...SETTINGS, ...spaces, SHEAF_DATA_DIR: folder }), log);
  const work: Work = { url: `http://127.0.0.1:${server.port}`, slots, prng, seed, tally };
  await new SheafClient({ url: work.url }).ready({ retriesMax: 20 });
  await checkAll(work, `after ${done()} operations`);
  await workUntil(work, () => done() >= until || isOver());
  await checkAll(work, `after ${done()} operations`);
  if ((until >= operations || isOver()) && tally.violations.length === 0) await endJobs(work);
  await server.stop();
  tally.violations.push(...faults.map((fault) => `logged: ${fault}`));
  if (tally.violations.length > 0)
    keepEvidence({ program: 'operations', seed, folder, data: '.', shards: SHARDS }, slots, tally.violations);
}

const startedMs = performance.now();
const rounds = await withSpaces(seed, (spaces) =>
  withFolder(async (folder) => {
    let ended = 0;
    for (; ended <= restarts && !isOver(); ended++)
      await round(folder, spaces, Math.ceil((operations * (ended + 1)) / (restarts + 1)));
    return ended;
  }),
);
printTable(`random operations, seed ${seed}`, [
  ['what', 'number'],
  ['operations', counted(tally.operations)],
  ['of them in all', whole(done())],
  ['reindex jobs by their end', counted(tally.jobs)],
  ['restarts', whole(rounds - 1)],
  ['searches, chunks compared', `${whole(tally.searches)}, ${whole(tally.chunks)}`],
  ['time', seconds(performance.now() - startedMs)],
  ['violations', whole(tally.violations.length)],
]);
printViolations(tally);
process.exitCode = tally.violations.length > 0 ? 1 : 0;
