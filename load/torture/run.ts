// Runs of the server under torture over one data directory. Each starts by checking what the previous one left and ends
// by kill -9 during writes or during a start; with a power cut, unsynced data is then partly lost.
import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Prng, createPrng } from '../../src/base/prng.js';
import { SheafClient } from '../../src/client/client.js';
import { SheafError, SheafUnreachable } from '../../src/client/errors.js';
import { faultEnvironment } from '../fault/fault-layer.js';
import { Disk } from '../fault/power-cut.js';
import { type ServerProcess, type Settings, spawnServer } from '../kit/server.js';
import { checkSlot } from './check.js';
import { checkLeft } from './evidence.js';
import { type Slot, hasEnded, isPaused, withJob } from './model.js';
import { step } from './operations.js';
import type { Tally, Worker } from './writer.js';

export interface Work {
  url: string;
  slots: readonly Slot[];
  prng: Prng;
  seed: number;
  tally: Tally;
  /** Whether threads of the server die: a change that is refused with 503 may then have happened, and is not repeated. */
  isMortal?: boolean;
}

/** Workers with a random generator each, so that what a writer does depends only on the seed and the answers. */
function workersOf({ url, slots, prng, seed, tally, isMortal }: Work): Worker[] {
  const client = new SheafClient({ url, ...(isMortal && { retriesMax: 0 }) });
  return slots.map((slot) => ({ client, slot, prng: createPrng(prng.int(2 ** 31)), seed, tally }));
}

/**
 * The writers of the torture program, one per slot, all concurrent. They end when told to, or when the server stops
 * answering.
 */
export async function workUntil(work: Work, isOver: () => boolean): Promise<void> {
  await Promise.all(
    workersOf(work).map(async (worker) => {
      while (!isOver() && worker.tally.violations.length === 0) if (!(await isAnswered(worker, work.isMortal))) return;
    }),
  );
}

const UNAVAILABLE = 503;

async function isAnswered(worker: Worker, isMortal = false): Promise<boolean> {
  try {
    await step(worker);
    return true;
  } catch (error) {
    if (error instanceof SheafUnreachable) return false;
    if (isMortal && error instanceof SheafError && error.status === UNAVAILABLE) return false;
    worker.tally.violations.push(
      `${told(worker.slot)}: ${error instanceof SheafError ? `refused with ${error.status} ${error.code}: ${error.message}` : `unexpected: ${(error as Error).stack}`}`,
    );
    worker.slot.forget();
    return false;
  }
}

export async function checkAll(work: Work, when: string): Promise<void> {
  await Promise.all(
    workersOf(work).map((worker) =>
      checkSlot(worker, when).catch((error: unknown) => {
        worker.tally.violations.push(
          `${told(worker.slot)} ${when}: ${error instanceof SheafError ? `${error.status} ${error.stack}` : String((error as Error).stack)}`,
        );
      }),
    ),
  );
}

function told({ tenant, prefix, state, pending }: Slot): string {
  const change =
    pending && 'state' in pending
      ? { name: pending.state.name, reindexing: pending.state.reindexing }
      : pending && Object.fromEntries(pending.documents);
  return `${tenant}/${state.name ?? prefix} (${JSON.stringify(state.reindexing)}, under way: ${JSON.stringify(change)})`;
}

const CHECK_MS = 50;
const CHECKS_MAX = 1200;

/**
 * Ends all jobs of a run: resumes paused ones and waits for all, including those of deleted collections. Requires that
 * all slots have just been checked, and checks them again afterwards.
 */
export async function endJobs(work: Work): Promise<void> {
  const { url, slots, tally } = work;
  const { reindex } = new SheafClient({ url });
  for (const slot of slots.filter(({ state }) => isPaused(state.reindexing))) {
    const { reindexing } = slot.state;
    await reindex.resume(reindexing.job?.id as string);
    slot.state = { ...slot.state, reindexing: withJob(reindexing, 'queued') };
  }
  for (let checks = 0; ; checks++) {
    const live = (await reindex.listAll()).jobs.filter(({ status }) => !hasEnded(status));
    if (live.length === 0) return checkAll(work, 'after all jobs');
    if (checks === CHECKS_MAX)
      return void tally.violations.push(
        ...live.map(
          ({ job_id: id, tenant, collection, status }) =>
            `job ${id} of ${tenant}/${collection} does not end: it is ${status}`,
        ),
      );
    await sleep(CHECK_MS);
  }
}

/**
 * Bounds of a life: acknowledged changes (most end much earlier) and time. It ends shortly after, during the next
 * operation.
 */
const CHANGES_MAX = 150;
const WORK_MS_MAX = 10_000;
const DEATH_DELAY_MS = 8;
const CUTS_A_DEATH = 10;
export const SHARDS = 2;
const KILLED_START_SHARE = 0.25;
/**
 * A start is killed after up to this multiple of the previous start's time: by then it may be ready, and running its
 * jobs.
 */
const KILLED_START_LENGTH = 1.2;

export interface TortureRun extends Omit<Work, 'url'> {
  folder: string;
  settings: Settings;
  /** The fault layer, for power cuts. */
  shim?: string;
  /** Milliseconds of each start until ready. */
  startsMs: number[];
  deaths: number;
  killedStarts: number;
  cuts: number;
  /** Cuts that found unsynced writes. */
  cutsWithLoss: number;
}

/** One life that ends by a kill. */
export async function runAndKill(run: TortureRun, cycle: number): Promise<void> {
  const lastStartMs = run.startsMs.at(-1);
  const isShort = lastStartMs !== undefined && run.prng.next() < KILLED_START_SHARE;
  await withProcess(run, async (server) => {
    if (isShort) {
      await sleep(run.prng.int(lastStartMs * KILLED_START_LENGTH));
      run.killedStarts++;
    } else {
      await checkAndWork(run, server, cycle);
    }
  });
}

/** The last life: check, end all jobs, check again, and stop normally. */
export async function runAndStop(run: TortureRun, cycle: number): Promise<void> {
  await withProcess(run, async (server) => {
    run.startsMs.push(await server.ready());
    const work = { ...run, url: server.url };
    await checkAll(work, `after cycle ${cycle}`);
    if (run.tally.violations.length === 0) await endJobs(work);
    await server.stop();
  });
}

async function checkAndWork(run: TortureRun, server: ServerProcess, cycle: number): Promise<void> {
  run.startsMs.push(await server.ready());
  const work = { ...run, url: server.url };
  await checkAll(work, `after cycle ${cycle}`);
  let isOver = false;
  const traffic = workUntil(work, () => isOver);
  await Promise.race([traffic, untilDeath(run)]);
  await server.kill();
  isOver = true;
  await traffic;
}

async function untilDeath({ prng, tally }: TortureRun): Promise<void> {
  const changes = tally.acknowledged + Math.floor(CHANGES_MAX * prng.next() ** 3);
  const delayMs = prng.int(DEATH_DELAY_MS);
  for (const untilMs = performance.now() + WORK_MS_MAX; tally.acknowledged < changes && performance.now() < untilMs; )
    await sleep(1);
  await sleep(delayMs);
}

/** Starts the server, and kills it (kill -9) if `work` has not done so. */
async function withProcess(run: TortureRun, work: (server: ServerProcess) => Promise<void>): Promise<void> {
  const { folder, shim } = run;
  const data = join(folder, 'data');
  mkdirSync(data, { recursive: true });
  const journal = join(folder, 'journal');
  const disk = shim === undefined ? undefined : new Disk(data);
  rmSync(journal, { force: true });
  const layer = shim === undefined ? {} : faultEnvironment(shim, { root: data, journal });
  const server = await spawnServer(folder, { ...run.settings, ...layer });
  try {
    await work(server);
  } finally {
    await server.kill();
    if (disk) await cut(run, disk, data, journal);
  }
}

/** Simulates many power cuts of the same death; the server continues with the last of them. */
async function cut(run: TortureRun, disk: Disk, data: string, journal: string): Promise<void> {
  disk.replay(journal);
  const left = join(run.folder, 'left');
  for (let way = 1; way <= CUTS_A_DEATH; way++) {
    rmSync(left, { recursive: true, force: true });
    const { unsyncedFiles, mode } = disk.cutTo(left, run.prng);
    run.cuts++;
    if (unsyncedFiles > 0) run.cutsWithLoss++;
    if (run.tally.acknowledged > 0) await checkLeft(left, SHARDS, run.slots, run.tally, `cut ${run.cuts} (${mode})`);
  }
  rmSync(data, { recursive: true });
  renameSync(left, data);
}
