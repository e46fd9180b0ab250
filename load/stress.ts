// Readers beside a writer on one shard's memory, with random operations, answers checked against a log of what was
// there, and threads that are killed: for as long as wanted. Prints what was done, and every fault with its seed; exits
// 1 where there is any. node dist/load/stress.js [--minutes 1] [--seed 1] [--readers 3] [--tiny]
import { readArguments } from './kit/command.js';
import { runStress } from './stress/run.js';

const { tiny, number } = readArguments('minutes', 'seed', 'readers');
const minutes = number('minutes', 1);
const from = number('seed', 1);
/** Each seed gets so long. */
const SEED_MS = 20_000;

const rounds = tiny ? 1 : Math.max(1, Math.round((minutes * 60_000) / SEED_MS));
for (let seed = from; seed < from + rounds; seed++) {
  const { faults, endedOwners, ...done } = await runStress({
    seed,
    readers: number('readers', 3),
    forMs: tiny ? 3000 : SEED_MS,
    roundMs: tiny ? 1000 : 4000,
  });
  console.log(
    `seed ${seed}: ${JSON.stringify(done)}${endedOwners.length > 0 ? `, ended: ${[...new Set(endedOwners)].join('; ')} (${endedOwners.length})` : ''}`,
  );
  for (const fault of faults) console.log(`  ${fault}`);
  if (faults.length > 0) process.exitCode = 1;
}
