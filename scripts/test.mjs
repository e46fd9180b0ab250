// Runs the tests of dist, which setup has built before: a tier, or the files that the arguments name:
//   npm test                       unit and integration
//   npm run test:system            processes, browsers, shells, packages, other languages
//   npm test -- http store         the files of the tier whose path contains one of the words
//   npm run test:one PATH -- -t X  one file, only tests whose name matches X; PATH as in test/ or dist/test/
// --fronts N gives the servers that tests start in their own process N front threads instead of none.
// --coverage writes V8's raw coverage to coverage/. Ends with the summary of Node's test runner; exits 1 on a failure.
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { mapped, report } from './reporter.mjs';

/** A test file that hangs is killed and counts as failed. */
const FILE_TIMEOUT_MS = 600_000;
/**
 * Most test files start a server of several threads, or keep one core busy: more files at a time would starve each
 * other.
 */
const FILES_AT_ONCE_MAX = 4;

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    tier: { type: 'string', multiple: true, default: [] },
    one: { type: 'boolean', default: false },
    name: { type: 'string', short: 't' },
    coverage: { type: 'boolean', default: false },
    concurrency: { type: 'string' },
    fronts: { type: 'string' },
  },
});

const files = values.one ? [fileNamed(positionals)] : filesOf(values.tier, positionals);
if (values.coverage) {
  process.env.NODE_V8_COVERAGE = join(root, 'coverage');
  rmSync(process.env.NODE_V8_COVERAGE, { recursive: true, force: true });
}
// The user's own settings must not reach the servers under test.
for (const name of Object.keys(process.env)) if (name.startsWith('SHEAF_')) delete process.env[name];
if (values.fronts !== undefined) process.env.TEST_FRONT_THREADS = values.fronts;
const concurrency = Number(values.concurrency ?? Math.min(availableParallelism(), FILES_AT_ONCE_MAX));
const stream = run({
  files,
  concurrency: values.one ? 1 : concurrency,
  timeout: FILE_TIMEOUT_MS,
  ...(values.name !== undefined && { testNamePatterns: [values.name] }),
});
stream.on('test:fail', () => (process.exitCode = 1));
const reporters = process.stdout.isTTY ? [mapped, new spec()] : [report];
await pipeline(stream, ...reporters, process.stdout, { end: false });

/** The test files of the tiers, sorted by path, whose path contains one of the words. */
function filesOf(tiers, words) {
  const found = tiers.flatMap((tier) => testsBelow(join(root, 'dist/test', tier)));
  const wanted = found.filter(
    (path) => words.length === 0 || words.some((word) => relative(root, path).includes(word)),
  );
  if (wanted.length > 0) return wanted;
  fail(
    words.length > 0
      ? `no test file's path contains ${words.join(' or ')}`
      : 'there are no tests in dist: run npm run build',
  );
}

function testsBelow(folder) {
  if (!existsSync(folder)) return [];
  const paths = readdirSync(folder, { recursive: true }).filter((path) => path.endsWith('.test.js'));
  return paths.sort().map((path) => join(folder, path));
}

function fileNamed([path, ...others]) {
  if (path === undefined || others.length > 0)
    fail('name one test file: npm run test:one test/unit/text/chunk.test.ts -- -t NAME');
  const built = resolve(root, path).replace(join(root, 'test'), join(root, 'dist/test')).replace(/\.ts$/, '.js');
  if (existsSync(built)) return built;
  const alike = testsBelow(join(root, 'dist/test')).filter(
    (other) => basename(other) === basename(built) || relative(root, other).includes(path),
  );
  if (alike.length === 1) return alike[0];
  fail(
    alike.length === 0
      ? `there is no test file ${path}`
      : `${path} may be\n${alike.map((other) => relative(root, other)).join('\n')}`,
  );
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
