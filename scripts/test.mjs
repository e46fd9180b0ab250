// Runs the tests of dist: `npm test` all of them, `npm test -- http store` those whose path contains one of the words.
// Arguments that begin with a dash go to Node (`npm test -- --test-name-pattern=drain`). Ends with Node's own summary.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A file that hangs is ended and counts as failed. */
const FILE_TIMEOUT_MS = 600_000;

function findTests(folder, words) {
  if (!existsSync(folder)) return [];
  const tests = readdirSync(folder, { recursive: true })
    .filter((path) => path.endsWith('.test.js'))
    .sort();
  const wanted = words.length === 0 ? tests : tests.filter((path) => words.some((word) => path.includes(word)));
  return wanted.map((path) => join(folder, path));
}

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const options = process.argv.slice(2).filter((argument) => argument.startsWith('-'));
const words = process.argv.slice(2).filter((argument) => !argument.startsWith('-'));
const tests = findTests(join(root, 'dist/test'), words);
if (tests.length === 0) {
  console.error(
    words.length > 0
      ? `no test file's path contains ${words.join(' or ')}`
      : 'there are no tests in dist: run npm test, which builds first',
  );
  process.exit(1);
}
// One file at a time: servers and kernels under test would starve each other on a small machine.
const reporter = process.stdout.isTTY ? 'spec' : new URL('reporter.cjs', import.meta.url).href;
const runner = [
  '--enable-source-maps',
  '--test',
  '--test-concurrency=1',
  `--test-timeout=${FILE_TIMEOUT_MS}`,
  `--test-reporter=${reporter}`,
];
const { status } = spawnSync(process.execPath, [...runner, ...options, ...tests], { cwd: root, stdio: 'inherit' });
process.exitCode = status ?? 1;
