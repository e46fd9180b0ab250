// Tenants write, replace, delete, rename, drop, archive, restore, reindex and search while the server is killed (kill
// -9) at random moments, again and again over one data directory; after each restart everything is compared with a
// model in memory. With --power-cut what was not synced is lost in part at each death. npm run torture -- [--cycles
// 100] [--minutes M] [--seed S] [--power-cut] [--tiny]. Exit code 1 on any violation. A cycle is one death; with
// --power-cut there are ten cuts in each. What a process has written outlives its death in memory too: TMPDIR=/dev/shm
// spares the disk in long runs.
import { createPrng } from '../src/base/prng.js';
import { printTable, readArguments, seconds, whole } from './kit/command.js';
import { compileShim } from './fault/fault-layer.js';
import { withFolder } from './kit/server.js';
import { keepEvidence } from './torture/evidence.js';
import { liveAndDie, liveAndStop, SHARDS, type Lives } from './torture/run.js';
import { counted, emptyTally, printViolations, withSpaces } from './torture/writer.js';
import { createSlots } from './torture/model.js';

const SETTINGS = {
  SHEAF_STORAGE__PARTITIONS: String(SHARDS),
  SHEAF_THREADS: '1',
};

const { tiny, number, flag } = readArguments('cycles', 'minutes', 'seed', 'power-cut?');
const seed = number('seed', 1);
const cycles = number('cycles', tiny ? 6 : 100);
/** It ends after the cycle in which this time is over. */
const minutes = number('minutes', 24 * 60);

async function torture(shim: string | undefined): Promise<boolean> {
  const lives = await withSpaces(seed, (spaces) =>
    withFolder((folder) =>
      liveAll({
        folder,
        shim,
        settings: { ...SETTINGS, ...spaces },
        slots: createSlots(3, 4),
        prng: createPrng(seed),
        seed,
        tally: emptyTally(),
        startsMs: [],
        deaths: 0,
        killedStarts: 0,
        cuts: 0,
        cutsWithLoss: 0,
      }),
    ),
  );
  report(lives);
  return lives.tally.violations.length === 0;
}

/** Until something is violated, or all is done. */
async function liveAll(lives: Lives): Promise<Lives> {
  const { violations } = lives.tally;
  const untilMs = performance.now() + minutes * 60_000;
  for (; lives.deaths < cycles && performance.now() < untilMs && violations.length === 0; lives.deaths++)
    await liveAndDie(lives, lives.deaths);
  if (violations.length === 0) await liveAndStop(lives, lives.deaths);
  if (violations.length > 0)
    keepEvidence(
      { program: 'torture', seed, folder: lives.folder, data: 'data', shards: SHARDS },
      lives.slots,
      violations,
    );
  return lives;
}

function report({ tally, startsMs, deaths, killedStarts, cuts, cutsWithLoss, shim }: Lives): void {
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

const library = flag('power-cut') || tiny ? compileShim() : undefined;
if (flag('power-cut') && library === undefined) throw new Error('Power cuts want Linux and a C compiler (cc)');
const modes = tiny ? [undefined, ...(library === undefined ? [] : [library])] : [library];
for (const shim of modes) if (!(await torture(shim))) process.exitCode = 1;
