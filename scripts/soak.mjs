// `npm run test:soak -- [--seed N] [--minutes M]`: rounds of random work against checkers for M minutes; the first
// round always runs to its end. The seed is printed; a part that fails prints the command that runs it again.
//   torture       a server killed at random, in every other round with power cuts
//   operations    random operations of every kind, answers checked against a model
//   replay        random commands of a shard, and the replay of its journal
//   cluster       nodes and NATS servers that are killed and stopped
//   stress        readers beside a writer on one shard's memory, threads killed
//   requests      random requests from the server's own OpenAPI document
//   tests         test/soak, with the same seed: schemathesis among them, where Python is
//   load          once: every load program in its tiny form
// Ends with `N passed, N failed`; exits 1 on a failure.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

/** A part that hangs is killed and counts as failed. */
const PART_TIMEOUT_MS = 600_000;
/** As much of the output of a failed part is printed once more at the end, since readers of a long log see its end only. */
const KEPT_CHARACTERS = 4000;
const LOAD = 'dist/load/main.js';
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { values } = parseArgs({ options: { seed: { type: 'string' }, minutes: { type: 'string', default: '10' } } });
const seed = Number(values.seed ?? Math.floor(Math.random() * 1e9));
const minutes = Number(values.minutes);
if (!Number.isSafeInteger(seed) || !(minutes >= 0)) {
  console.error('npm run test:soak -- --seed N --minutes M');
  process.exit(1);
}

const endMs = performance.now() + 60_000 * minutes;
const failed = [];
let passed = 0;

async function run(args, env = {}) {
  const command = `${Object.entries(env)
    .map(([name, value]) => `${name}=${value} `)
    .join('')}node ${args.join(' ')}`;
  console.log(`\n== ${command}`);
  const startedMs = performance.now();
  const child = spawn(process.execPath, args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
    timeout: PART_TIMEOUT_MS,
    killSignal: 'SIGKILL',
  });
  let end = '';
  for (const [from, to] of [
    [child.stdout, process.stdout],
    [child.stderr, process.stderr],
  ]) {
    from.setEncoding('utf8').on('data', (text) => {
      to.write(text);
      end = (end + text).slice(-KEPT_CHARACTERS);
    });
  }
  const [status, signal] = await once(child, 'close');
  const took = `${((performance.now() - startedMs) / 1000).toFixed(0)} s`;
  if (status === 0) passed++;
  else failed.push({ command: `${command} (${signal ?? `exit code ${status}`})`, end });
  console.log(`-- ${status === 0 ? 'passed' : 'FAILED'} after ${took}`);
}

const isOver = () => performance.now() > endMs;

/** One round of all parts. The same number gives the same work. */
async function round(number, first) {
  const soak = (...words) => run([LOAD, 'soak', ...words, '--seed', String(number)]);
  const parts = [
    () => soak('torture', '--cycles', '6', ...(number % 2 === 0 ? ['--power-cut'] : [])),
    () => soak('operations', '--operations', '5000', '--restarts', '2'),
    // Zero minutes mean one seed, which takes 20 seconds.
    () => soak('stress', '--minutes', '0'),
    () => soak('replay', '--commands', '20000'),
    () => soak('cluster', '--minutes', '1'),
    () => soak('requests', '--requests', '3000'),
    () => run(['scripts/test.mjs', '--tier', 'soak'], { SOAK_SEED: String(number) }),
  ];
  for (const part of parts) if (first || !isOver()) await part();
}

/** Every load program in its tiny form, without the seeded ones, which the rounds run. */
async function tinyLoad() {
  const listed = JSON.parse(execFileSync(process.execPath, [LOAD, 'list', '--json'], { cwd: root, encoding: 'utf8' }));
  const commands = listed.filter(({ isSeeded }) => !isSeeded).map(({ command }) => command);
  for (const command of [...commands, 'suite', 'suite peers']) await run([LOAD, ...command.split(' '), '--tiny']);
}

if (!existsSync(join(root, LOAD))) throw new Error(`there is no ${LOAD}: run npm run build`);
console.log(`soak: seed ${seed}, ${minutes} minutes`);
await round(seed, true);
await tinyLoad();
for (let number = seed + 1; !isOver(); number++) await round(number, false);
for (const { command, end } of failed) console.log(`# FAILED ${command}\n${end}`);
console.log(`soak: seed ${seed}`);
console.log(`${passed} passed, ${failed.length} failed`);
process.exitCode = failed.length > 0 ? 1 : 0;
