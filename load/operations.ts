// Random operations of several tenants against a model in memory, in one process, which starts its server anew now and then: how much is compared,
// and how fast. node dist/load/operations.js [--operations 200000] [--restarts 20] [--seed S] [--tiny]. Exit code 1 on any violation.
import { createPrng } from '../src/base/prng.js';
import type { Log } from '../src/base/log.js';
import { SheafClient } from '../src/client/client.js';
import { readConfig } from '../src/config.js';
import { startServer } from '../src/server.js';
import { readArguments } from './kit/arguments.js';
import { printTable, seconds, whole } from './kit/report.js';
import { withFolder } from './kit/server.js';
import { checkAll, workUntil, type Work } from './kit/torture/lanes.js';
import { createSlots, emptyTally } from './kit/torture/world.js';

const { tiny, number } = readArguments('operations', 'restarts', 'seed');
const operations = number('operations', tiny ? 1_500 : 200_000);
const restarts = number('restarts', tiny ? 2 : 20);
const seed = number('seed', 1);
const tally = emptyTally();
const slots = createSlots(3, 4);
const prng = createPrng(seed);
const done = (): number => [...tally.operations.values()].reduce((sum, count) => sum + count, 0);

/** With the server in this process, until so many operations have been done in all. */
async function round(folder: string, until: number): Promise<void> {
  const faults: string[] = [];
  const log: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: (fields, message) => faults.push(`${message} ${JSON.stringify(fields)}`) };
  const server = await startServer(readConfig({ SHEAF_SERVER__PORT: '0', SHEAF_STORAGE__PARTITIONS: '2', SHEAF_SEARCH__THREADS: '1', SHEAF_DATA_DIR: folder }), log);
  const work: Work = { client: new SheafClient({ url: `http://127.0.0.1:${server.port}` }), slots, prng, seed, tally };
  await work.client.ready({ retriesMax: 20 });
  await checkAll(work, `after ${done()} operations`);
  await workUntil(work, () => done() >= until);
  await checkAll(work, `after ${done()} operations`);
  await server.stop();
  tally.violations.push(...faults.map((fault) => `logged: ${fault}`));
}

const startedMs = performance.now();
await withFolder(async (folder) => {
  for (let restart = 0; restart <= restarts && tally.violations.length === 0; restart++) await round(folder, Math.ceil((operations * (restart + 1)) / (restarts + 1)));
});
printTable(`random operations, seed ${seed}`, [
  ['what', 'number'],
  ['operations', [...tally.operations].map(([name, count]) => `${name} ${whole(count)}`).join(', ')],
  ['of them in all', whole(done())],
  ['restarts', whole(restarts)],
  ['searches, chunks compared', `${whole(tally.searches)}, ${whole(tally.chunks)}`],
  ['time', seconds(performance.now() - startedMs)],
  ['violations', whole(tally.violations.length)],
]);
for (const violation of tally.violations.slice(0, 20)) console.log(`  violation: ${violation}`);
process.exitCode = tally.violations.length > 0 ? 1 : 0;
