// Random work against checkers, by seed, as long as wanted. Each program prints its seed and exits with code 1 on a
// violation.
import type { Log } from '../src/base/log.js';
import { createPrng } from '../src/base/prng.js';
import { resolve } from 'node:path';
import { startServer } from '../src/cli/serve.js';
import { SheafClient } from '../src/client/client.js';
import { readConfig } from '../src/config/load.js';
import { compileShim } from './fault/fault-layer.js';
import { sendRandomRequests } from './fuzz/run.js';
import { type LoadOptions, printTable, seconds, whole } from './kit/command.js';
import { type Settings, withFolder, withServer } from './kit/server.js';
import { findNats } from './kit/nats.js';
import { runChaos } from './stress/chaos.js';
import { runReplay } from './stress/replay.js';
import { type SimulationReport, simulate } from './stress/simulation.js';
import { runStress } from './stress/run.js';
import { keepEvidence } from './torture/evidence.js';
import { createSlots } from './torture/model.js';
import {
  checkAll,
  type TortureRun,
  endJobs,
  runAndKill,
  runAndStop,
  SHARDS,
  type Work,
  workUntil,
} from './torture/run.js';
import { counted, emptyTally, printViolations, withSpaces } from './torture/writer.js';

/** Programs without an end of their own stop after a day. */
const MINUTES_MAX = 24 * 60;

/** With a journal, whose hashes are checked after each death. */
const TORTURE_SETTINGS = {
  SHEAF_STORAGE__PARTITIONS: String(SHARDS),
  SHEAF_STORAGE__JOURNAL_MB: '8',
  SHEAF_THREADS: '1',
};

interface TortureOptions {
  readonly seed: number;
  readonly cycles: number;
  /** The run ends after the cycle in which this time is over. */
  readonly minutes: number;
  /** The fault layer's library for power cuts; without it the server is only killed. */
  readonly shim: string | undefined;
}

/**
 * Tenants write, replace, delete, rename, drop, archive, restore, reindex and search while the server is killed (kill
 * -9) at random moments over one data directory; after each restart everything is compared with a model in memory. With
 * --power-cut, unsynced data is partly lost at each death: a cycle is one death with ten simulated cuts. Data that a
 * killed process has written survives in memory too, so TMPDIR=/dev/shm spares the disk in long runs.
 */
export async function torture({ tiny, number, flag }: LoadOptions): Promise<void> {
  const library = flag('power-cut') || tiny ? compileShim() : undefined;
  if (flag('power-cut') && library === undefined) throw new Error('Power cuts want Linux and a C compiler (cc)');
  for (const shim of tiny ? [undefined, ...(library === undefined ? [] : [library])] : [library]) {
    const options = {
      seed: number('seed', 1),
      cycles: number('cycles', tiny ? 6 : 100),
      minutes: number('minutes', MINUTES_MAX),
      shim,
    };
    const { tally } = await tortured(options);
    if (tally.violations.length > 0) process.exitCode = 1;
  }
}

async function tortured({ seed, cycles, minutes, shim }: TortureOptions): Promise<TortureRun> {
  const all = await withSpaces(seed, (spaces) =>
    withFolder((folder) =>
      runAll(
        {
          folder,
          shim,
          settings: { ...TORTURE_SETTINGS, ...spaces },
          slots: createSlots(3, 4),
          prng: createPrng(seed),
          seed,
          tally: emptyTally(),
          startsMs: [],
          deaths: 0,
          killedStarts: 0,
          cuts: 0,
          cutsWithLoss: 0,
        },
        cycles,
        performance.now() + minutes * 60_000,
      ),
    ),
  );
  printCycles(all, seed);
  return all;
}

/** Runs cycles until something is violated or all are done. */
async function runAll(all: TortureRun, cycles: number, untilMs: number): Promise<TortureRun> {
  const { violations } = all.tally;
  for (; all.deaths < cycles && performance.now() < untilMs && violations.length === 0; all.deaths++)
    await runAndKill(all, all.deaths);
  if (violations.length === 0) await runAndStop(all, all.deaths);
  if (violations.length > 0)
    keepEvidence(
      { program: 'torture', seed: all.seed, folder: all.folder, data: 'data', shards: SHARDS },
      all.slots,
      violations,
    );
  return all;
}

function printCycles(
  { tally, startsMs, deaths, killedStarts, cuts, cutsWithLoss, shim }: TortureRun,
  seed: number,
): void {
  printTable(`${shim === undefined ? 'kill -9' : 'power cuts'}, seed ${seed}`, [
    ['what', 'number'],
    ['deaths, of them during a start', `${whole(deaths)}, ${whole(killedStarts)}`],
    ...(shim === undefined ? [] : [['cuts, of them with unsynced writes', `${whole(cuts)}, ${whole(cutsWithLoss)}`]]),
    ['changes acknowledged', whole(tally.acknowledged)],
    ['changes cut off, of them kept', `${whole(tally.cutOff)}, ${whole(tally.kept)}`],
    ['operations', counted(tally.operations)],
    ['operations cut off', counted(tally.cutOffs)],
    ['reindex jobs by their end', counted(tally.jobs)],
    ['searches, chunks compared', `${whole(tally.searches)}, ${whole(tally.chunks)}`],
    ['slowest start', seconds(Math.max(0, ...startsMs))],
    ['violations', whole(tally.violations.length)],
  ]);
  printViolations(tally);
}

const OPERATIONS_SHARDS = 2;

/**
 * Random operations of several tenants, as in torture, against a model in memory, in one process that restarts its
 * server now and then: number of comparisons, and their rate. With --minutes it ends with the first restart after that
 * time.
 */
export async function operations({ tiny, number }: LoadOptions): Promise<void> {
  const wanted = number('operations', tiny ? 1_500 : 200_000);
  const restarts = number('restarts', tiny ? 2 : 20);
  const seed = number('seed', 1);
  const startedMs = performance.now();
  const untilMs = startedMs + 60_000 * number('minutes', MINUTES_MAX);
  const run = { slots: createSlots(3, 4), prng: createPrng(seed), seed, tally: emptyTally() };
  const { tally } = run;
  const isOver = (): boolean => performance.now() > untilMs || tally.violations.length > 0;
  const rounds = await withSpaces(seed, (spaces) =>
    withFolder(async (folder) => {
      let ended = 0;
      for (; ended <= restarts && !isOver(); ended++) {
        const until = Math.ceil((wanted * (ended + 1)) / (restarts + 1));
        await operate(
          run,
          folder,
          spaces,
          () => doneIn(tally) >= until || isOver(),
          () => until >= wanted || isOver(),
        );
      }
      return ended;
    }),
  );
  printTable(`random operations, seed ${seed}`, [
    ['what', 'number'],
    ['operations', counted(tally.operations)],
    ['of them in all', whole(doneIn(tally))],
    ['reindex jobs by their end', counted(tally.jobs)],
    ['restarts', whole(rounds - 1)],
    ['searches, chunks compared', `${whole(tally.searches)}, ${whole(tally.chunks)}`],
    ['time', seconds(performance.now() - startedMs)],
    ['violations', whole(tally.violations.length)],
  ]);
  printViolations(tally);
  if (tally.violations.length > 0) process.exitCode = 1;
}

const doneIn = ({ operations: done }: Work['tally']): number =>
  [...done.values()].reduce((sum, count) => sum + count, 0);

/** Runs one life of the server, in this process, until `isDone`. The last life ends all jobs. */
async function operate(
  run: Omit<Work, 'url'>,
  folder: string,
  spaces: Settings,
  isDone: () => boolean,
  isLast: () => boolean,
): Promise<void> {
  const { tally, slots, seed } = run;
  const faults: string[] = [];
  const log: Log = {
    debug: () => {},
    info: () => {},
    warn: () => {},
    error: (fields, message) => faults.push(`${message} ${JSON.stringify(fields)}`),
  };
  const settings = {
    SHEAF_SERVER__PORT: '0',
    SHEAF_STORAGE__PARTITIONS: String(OPERATIONS_SHARDS),
    SHEAF_THREADS: '1',
    ...spaces,
    SHEAF_DATA_DIR: folder,
  };
  const server = await startServer(readConfig(settings), log);
  const work: Work = { ...run, url: `http://127.0.0.1:${server.port}` };
  await new SheafClient({ url: work.url }).ready({ retriesMax: 20 });
  await checkAll(work, `after ${doneIn(tally)} operations`);
  await workUntil(work, isDone);
  await checkAll(work, `after ${doneIn(tally)} operations`);
  if (isLast() && tally.violations.length === 0) await endJobs(work);
  await server.stop();
  tally.violations.push(...faults.map((fault) => `logged: ${fault}`));
  if (tally.violations.length > 0)
    keepEvidence(
      { program: 'operations', seed, folder, data: '.', shards: OPERATIONS_SHARDS },
      slots,
      tally.violations,
    );
}

/** How long each seed runs. */
const SEED_MS = 20_000;

/**
 * Readers beside a writer on one shard's memory with random operations: answers are checked against a log, and threads
 * are killed. Prints what was done, and every fault with its seed.
 */
export async function stress({ tiny, number }: LoadOptions): Promise<void> {
  const from = number('seed', 1);
  const seeds = tiny ? 1 : Math.max(1, Math.round((number('minutes', 1) * 60_000) / SEED_MS));
  for (let seed = from; seed < from + seeds; seed++) {
    const { faults, endedOwners, ...done } = await runStress({
      seed,
      readers: number('readers', 3),
      forMs: tiny ? 3000 : SEED_MS,
      roundMs: tiny ? 1000 : 4000,
    });
    const ended = `, ended: ${[...new Set(endedOwners)].join('; ')} (${endedOwners.length})`;
    console.log(`seed ${seed}: ${JSON.stringify(done)}${endedOwners.length > 0 ? ended : ''}`);
    for (const fault of faults) console.log(`  ${fault}`);
    if (faults.length > 0) process.exitCode = 1;
  }
}

/**
 * Runs seeds of the simulated cluster (stress/simulation.ts). Prints what was done, and the seeds that ended with a
 * violation. A log that loses what it has acknowledged may also leave nodes to an operator, which is counted.
 */
export async function simulation({ tiny, number }: LoadOptions): Promise<void> {
  const seeds = number('seeds', tiny ? 20 : 1000);
  const from = number('seed', 1);
  const losses = number('losses', 0) === 1;
  const isTraced = number('trace', 0) === 1;
  const startedAtMs = performance.now();
  const sum = { writes: 0, 'strong reads': 0, rebuilds: 0, copies: 0 };
  const [failed, left]: [SimulationReport[], SimulationReport[]] = [[], []];
  const faults: Record<string, number> = {};
  for (let seed = from; seed < from + seeds; seed++) {
    const report = await simulate({ seed, losses, ...(isTraced && { trace: (line) => console.log(line) }) });
    sum.writes += report.writes;
    sum['strong reads'] += report.strongReads;
    sum.rebuilds += report.rebuilds;
    sum.copies += report.copies;
    for (const [kind, times] of Object.entries(report.faults)) faults[kind] = (faults[kind] ?? 0) + times;
    if (report.violations.length > 0) failed.push(report);
    else if (report.needOperator.length > 0) left.push(report);
  }
  const perMinute = (60_000 * seeds) / (performance.now() - startedAtMs);
  printTable(`A simulated cluster, seeds from ${from}`, [
    ['what', 'number'],
    ['seeds', whole(seeds)],
    ['seeds per minute', whole(perMinute)],
    ...Object.entries({ ...sum, ...faults }).map(([name, value]) => [name, whole(value)]),
    ['seeds that need an operator', whole(left.length)],
    ['seeds with violations', whole(failed.length)],
  ]);
  for (const { seed, violations } of failed) console.log(`seed ${seed}: ${violations.join('; ')}`);
  if (failed.length > 0) process.exitCode = 1;
}

/**
 * Random commands on a shard with a journal, and their replay on an empty one in other batches. Both must have the same
 * documents, chunks, vectors, versions, counts, expiries and hash.
 */
export async function replay({ tiny, number }: LoadOptions): Promise<void> {
  const commands = number('commands', tiny ? 2000 : 200_000);
  const seed = number('seed', 1);
  await withFolder(async (folder) => {
    const startedAtMs = performance.now();
    const { head, differences, bytes, ...done } = runReplay(folder, seed, commands);
    printTable(`Random commands and their replay, seed ${seed}`, [
      ['what', 'number'],
      ...Object.entries(done).map(([name, value]) => [name, whole(value)]),
      ['commands in the journal', whole(head.sequence)],
      ['bytes of the journal', whole(bytes)],
      ['hash', head.hash],
      ['time', seconds(performance.now() - startedAtMs)],
      ['differences', whole(differences.length)],
    ]);
    for (const difference of differences.slice(0, 20)) console.log(`  violation: ${difference}`);
    if (differences.length > 0) process.exitCode = 1;
  });
}

/**
 * Three nodes and three NATS servers, killed and stopped at random under writes and reads. No acknowledged write may be
 * lost or made twice, a read with a token shows what the token tells of, and all nodes come to have the same documents.
 * With --former nodes begin with the build in another folder, and are restarted with this one.
 */
export async function cluster({ tiny, number, text }: LoadOptions): Promise<void> {
  const seed = number('seed', 1);
  const minutes = number('minutes', tiny ? 0.2 : 5);
  const former = text('former');
  if (findNats() === undefined) {
    console.log('nats-server is absent: node scripts/nats-server.mjs builds it');
    return;
  }
  await withFolder(async (folder) => {
    const { faults, violations, ...done } = await runChaos(folder, {
      seed,
      minutes: Math.max(minutes, 0.5),
      ...(former !== undefined && { former: resolve(former) }),
      ...(number('trace', 0) === 1 && { trace: (line) => console.log(line) }),
    });
    printTable(`Three nodes and three NATS servers under faults, seed ${seed}`, [
      ['what', 'number'],
      ...Object.entries({ ...faults, ...done }).map(([name, value]) => [name, whole(value)]),
      ['violations', whole(violations.length)],
    ]);
    for (const violation of violations.slice(0, 20)) console.log(`  violation: ${violation}`);
    if (violations.length > 0) process.exitCode = 1;
  });
}

/**
 * Random requests from the server's own OpenAPI document, valid, nearly valid and hostile, on every operation. Failures
 * are a 500, a hang, an answer that violates its schema, and a server that is inconsistent afterwards.
 */
export async function requests({ tiny, url: given, number }: LoadOptions): Promise<void> {
  const count = number('requests', tiny ? 500 : 100_000);
  const seed = number('seed', 1);
  const connections = number('connections', 8);
  await withServer(given, async (url) => {
    const startedAtMs = performance.now();
    const sent = await sendRandomRequests({ url, seed, requests: count, connections });
    const took = seconds(performance.now() - startedAtMs);
    printTable(`Random requests, seed ${seed}, ${sent.operations} operations, ${connections} connections, ${took}`, [
      ['status', 'answers'],
      ...[...sent.byStatus].sort(([a], [b]) => a - b).map(([status, answers]) => [String(status), whole(answers)]),
      ['failures', whole(sent.failures.length)],
    ]);
    for (const failure of sent.failures) console.log(`\nfailure: ${failure}`);
    if (sent.failures.length > 0) process.exitCode = 1;
  });
}
