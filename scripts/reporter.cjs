// Node's TAP with the failures named once more before the summary: what is kept of a long log is its end.
// The words that make npm test run the files with failures again are also written, one a line, to the file that
// FAILED_FILES_LIST names; .ci/run reads it. It has no SHEAF_ in front: servers under test refuse settings they do not
// know. Node tells a source file for a test in it, and a file of dist that broke.
// CommonJS: Node takes what a module is, or its default export, and ours have names.
const { writeFileSync } = require('node:fs');
const { relative } = require('node:path');
const { tap } = require('node:test/reporters');

/** A suite fails because a test in it does: the test is named, not the suite. */
const isOwnFailure = ({ type, data }) => type === 'test:fail' && data.details.error.failureType !== 'subtestsFailed';

const wordOf = (file) => file.replace(/^(dist\/)?test\//, '').replace(/\.[jt]s$/, '');

const isLastPlan = ({ type, data }) => type === 'test:plan' && data.nesting === 0;

/** Of each failure the first lines: what went wrong, and where. */
const LINES_MAX = 16;

function* sayFailures(failures) {
  for (const { name, file, details } of failures) {
    const cause = details.error.cause ?? details.error;
    const lines = String(cause.stack ?? cause.message ?? cause).split('\n');
    for (const message of [`FAILED ${file}: ${name}`, ...lines.slice(0, LINES_MAX)])
      yield { type: 'test:diagnostic', data: { nesting: 0, message } };
  }
}

async function* withFailures(source) {
  const failures = [];
  for await (const event of source) {
    if (isOwnFailure(event)) failures.push({ ...event.data, file: relative(process.cwd(), event.data.file ?? '') });
    yield event;
    if (!isLastPlan(event)) continue;
    yield* sayFailures(failures);
    const list = process.env.FAILED_FILES_LIST;
    if (list) writeFileSync(list, [...new Set(failures.map(({ file }) => `${wordOf(file)}\n`))].join(''));
  }
}

module.exports = async function* report(source) {
  yield* tap(withFailures(source));
};
