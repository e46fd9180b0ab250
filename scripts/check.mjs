// `npm run check`: all checks of the sources that need not run them. Two checks run at a time; each prints a line with
// its seconds, and its output where it fails. `npm run check -- lint types` runs only those two. Ends with the number
// that passed and failed; exits 1 where one failed.
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const AT_ONCE = Math.min(2, availableParallelism());
/** The checks by name, the slowest first, so that the end does not wait for a slow one. */
const STEPS = {
  lint: 'eslint . --max-warnings 0',
  types: 'tsc -p . --noEmit',
  spreads: 'node scripts/spreads.mjs',
  imports: 'depcruise src workers test load scripts',
  unused: 'knip --no-progress',
  'types of the console': 'tsc -p src/console --noEmit',
  format: 'biome format .',
  links: 'remark . --frail --quiet --ignore-path .gitignore',
  'types of the kernel': 'tsc -p src/engine/kernel --noEmit',
  'types of the reader of numbers': 'tsc -p src/base/assembly --noEmit',
  'tables of the docs': 'node scripts/docs-tables.mjs --check',
  words: 'node scripts/words.mjs',
  'thread rules': 'node scripts/thread-rules.mjs',
};

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const env = { ...process.env, PATH: `${join(root, 'node_modules/.bin')}:${process.env.PATH}` };

/** Resolves with whether the command succeeded, and with all that it printed. */
function run(command) {
  return new Promise((resolve) => {
    const child = spawn(command, { cwd: root, env, shell: true, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => (output += piece));
    child.on('error', (error) => resolve({ isPassed: false, output: error.message }));
    child.on('close', (code) => resolve({ isPassed: code === 0, output }));
  });
}

const words = process.argv.slice(2);
const pending = Object.entries(STEPS).filter(
  ([name]) => words.length === 0 || words.some((word) => name.includes(word)),
);
const counts = { passed: 0, failed: 0 };

async function work() {
  for (let step = pending.shift(); step; step = pending.shift()) {
    const [name, command] = step;
    const startedAtMs = performance.now();
    const { isPassed, output } = await run(command);
    const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(1);
    counts[isPassed ? 'passed' : 'failed'] += 1;
    console.log(`${isPassed ? 'ok    ' : 'FAILED'} ${seconds.padStart(5)} s  ${name}`);
    if (!isPassed) console.log(`       ${command}\n${output}`);
  }
}

await Promise.all(Array.from({ length: AT_ONCE }, work));
console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exitCode = counts.failed > 0 || counts.passed === 0 ? 1 : 0;
