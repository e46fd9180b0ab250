// kill -9 of the server during concurrent writes, restart, check; many times over one data directory. Exit code 1 on any violation.
// node dist/load/kill.js [--cycles 50] [--seed S] [--tiny]. Tells of crashes of the process; a power cut is another matter.
import { setTimeout as sleep } from 'node:timers/promises';
import { createPrng } from '../src/base/prng.js';
import type { CreateBody } from '../src/contract/api/collections.js';
import { SheafClient } from '../src/client/client.js';
import { readArguments } from './kit/arguments.js';
import { checkCollection, checkDocuments } from './kit/kill/check.js';
import { churn, KILL_TARGET } from './kit/kill/churn.js';
import { Ledger } from './kit/kill/ledger.js';
import { PART_CHARACTERS } from './kit/kill/revision.js';
import { printTable, seconds, whole } from './kit/report.js';
import { spawnServer, startServer, withFolder } from './kit/server.js';

const { tiny, number } = readArguments('cycles', 'seed');
const cycles = number('cycles', tiny ? 2 : 50);
const seed = number('seed', 1);
const documents = tiny ? 64 : 640;
const CHURN_MS_MAX = 800;
const KILLED_START_SHARE = 0.2;
const VIOLATIONS_SHOWN = 20;
const COLLECTION: CreateBody = { chunking: { strategy: 'fixed', size: PART_CHARACTERS, overlap: 0 } };

const prng = createPrng(seed);
const ledger = new Ledger();
const violations: string[] = [];
const startsMs: number[] = [];
let killedStarts = 0;
let chunksRead = 0;

/** One life of the server: checked from the end of the life before, then under writes until it is killed. */
async function live(folder: string, cycle: number): Promise<void> {
  if (cycle > 0 && prng.next() < KILLED_START_SHARE) await killDuringStart(folder);
  const server = await startServer(folder);
  startsMs.push(server.readyMs);
  const client = new SheafClient({ url: server.url });
  try {
    if (cycle === 0) await client.createCollection(KILL_TARGET.tenant, KILL_TARGET.collection, COLLECTION);
    await check(client);
    if (cycle === cycles) return await server.stop();
    const traffic = churn({ client, ledger, prng, seed, documents, writers: 16, readers: 2, violations });
    await Promise.race([traffic, sleep(50 + prng.int(CHURN_MS_MAX))]);
    await server.kill();
    await traffic;
  } catch (error) {
    violations.push(`unexpected: ${String(error)}`);
  } finally {
    await server.kill();
  }
}

async function check(client: SheafClient): Promise<void> {
  const checking = { client, ledger, seed, violations };
  const read = await checkDocuments(checking, ledger.docids());
  chunksRead += read;
  await checkCollection(checking);
}

/** A crash while the server recovers from a crash. */
async function killDuringStart(folder: string): Promise<void> {
  const server = await spawnServer(folder);
  await sleep(prng.int(400));
  await server.kill();
  killedStarts++;
}

await withFolder(async (folder) => {
  for (let cycle = 0; cycle <= cycles && violations.length === 0; cycle++) await live(folder, cycle);
});
printTable(`kill -9 during ingest, seed ${seed}`, [
  ['what', 'number'],
  ['kills during writes', whole(Math.min(cycles, startsMs.length))],
  ['kills during a start', whole(killedStarts)],
  ['writes acknowledged', whole(ledger.acknowledgedWrites)],
  ['writes cut off, of them kept', `${whole(ledger.unanswered)}, ${whole(ledger.unansweredKept)}`],
  ['documents at the end', whole(ledger.docids().filter((docid) => ledger.isPresent(docid)).length)],
  ['chunks read and compared', whole(chunksRead)],
  ['slowest start', seconds(Math.max(...startsMs))],
  ['violations', whole(violations.length)],
]);
for (const violation of violations.slice(0, VIOLATIONS_SHOWN)) console.log(`  violation: ${violation}`);
process.exitCode = violations.length > 0 ? 1 : 0;
