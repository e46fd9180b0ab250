// The taste of this code base as tests: each complaint says what to do. The checks are below test/kit/tidy, and
// tidy-checks.test.ts shows each of them failing. No file is exempt but where a check says so.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { FILE_ALLOWANCES, FUNCTION_ALLOWANCES } from './kit/tidy/allowances.js';
import { errorCodeComplaints } from './kit/tidy/error-codes.js';
import {
  consoleComplaints,
  defaultExportComplaints,
  environmentComplaints,
  headComplaints,
  noteComplaints,
} from './kit/tidy/habits.js';
import { libraryComplaints, type Declared } from './kit/tidy/libraries.js';
import { linkComplaints } from './kit/tidy/links.js';
import { orphanComplaints } from './kit/tidy/orphans.js';
import { readPages, readSources } from './kit/tidy/project.js';
import { cycleComplaints, rankComplaints } from './kit/tidy/ranks.js';
import { fileSizes, functionSizes, ratchetComplaints } from './kit/tidy/sizes.js';

const files = readSources('.');
const tests = files.filter(({ path }) => path.startsWith('test/'));
const others = files.filter(({ path }) => !path.startsWith('test/'));

function check(name: string, complaints: readonly string[]): void {
  test(name, () => assert.ok(complaints.length === 0, `\n${complaints.join('\n')}`));
}

function declared(): Declared {
  const { dependencies = {}, devDependencies = {} } = JSON.parse(readFileSync('package.json', 'utf8')) as Record<
    string,
    Record<string, string>
  >;
  return { dependencies: Object.keys(dependencies), devDependencies: Object.keys(devDependencies) };
}

check('imports lead to lower ranks', rankComplaints(files));
check('there are no import cycles', cycleComplaints(files));
check('libraries stay in their folder', libraryComplaints(files, declared()));
check('no file is an orphan', orphanComplaints(files));
check('files stay small', ratchetComplaints(fileSizes(others), { aim: 150, max: 400, allowances: FILE_ALLOWANCES }));
check('test files stay readable', ratchetComplaints(fileSizes(tests), { aim: 400, max: 400, allowances: {} }));
check(
  'functions stay small',
  ratchetComplaints(functionSizes(others), { aim: 25, max: 60, allowances: FUNCTION_ALLOWANCES }),
);
check('files open with a comment', headComplaints(files));
check('there are no default exports', defaultExportComplaints(files));
check('the environment is read in one place', environmentComplaints(files));
check('only the command line prints', consoleComplaints(files));
check('there are no notes to self', noteComplaints(files));
check('every error code is used', errorCodeComplaints(files));
check('links in the documentation lead somewhere', linkComplaints(readPages('.'), existsSync));
