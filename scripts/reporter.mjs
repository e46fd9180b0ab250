// Reports tests as Node's TAP, with TypeScript lines in the stacks. The failures are listed once more before the
// summary, because the end of a long log is what readers keep.
import { existsSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { relative } from 'node:path';
import { tap } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';

/** Lines of each failure in the list: what went wrong, and where. */
const LINES_MAX = 16;

/** A reporter for logs, which takes the stream of `run()`. */
export async function* report(source) {
  yield* tap(withFailures(source));
}

async function* withFailures(source) {
  const failures = [];
  for await (const event of mapped(source)) {
    if (isOwnFailure(event)) failures.push(event.data);
    yield event;
    if (event.type === 'test:plan' && event.data.nesting === 0) yield* nameAgain(failures);
  }
}

/** The events of `run()`, with TypeScript lines in their stacks. */
export async function* mapped(source) {
  for await (const event of source) {
    if (event.type === 'test:fail') mapStack(event.data.details.error);
    yield event;
  }
}

/**
 * Whether an event is the failure of a test itself. A suite fails because a test in it does; then the test is listed,
 * not the suite.
 */
const isOwnFailure = ({ type, data }) => type === 'test:fail' && data.details.error.failureType !== 'subtestsFailed';

function* nameAgain(failures) {
  for (const { name, file, details } of failures) {
    const cause = details.error.cause ?? details.error;
    const lines = String(cause.stack ?? cause.message ?? cause).split('\n');
    for (const message of [`FAILED ${sourceOf(file)}: ${name}`, ...lines.slice(0, LINES_MAX)])
      yield { type: 'test:diagnostic', data: { nesting: 0, message } };
  }
}

const sourceOf = (file = '') =>
  relative(process.cwd(), file)
    .replace(/^dist\//, '')
    .replace(/\.js$/, '.ts');

/**
 * Maps the stack of an error by source maps. Tests run without --enable-source-maps, which costs a test that imports
 * the server a quarter of a second.
 */
function mapStack(error) {
  for (const part of [error, error.cause]) {
    if (typeof part?.stack !== 'string') continue;
    const value = part.stack.replace(/((?:file:\/\/)?\/[^\s():]+\/dist\/[^\s():]+\.js):(\d+):(\d+)/g, mapPlace);
    // Defined, not assigned: on Node 24 the property is read-only in an error that comes from a test's process.
    Object.defineProperty(part, 'stack', { value });
  }
}

const maps = new Map();

function mapPlace(place, path, line, column) {
  const file = path.startsWith('file:') ? fileURLToPath(path) : path;
  if (!maps.has(file))
    maps.set(
      file,
      existsSync(`${file}.map`) ? new SourceMap(JSON.parse(readFileSync(`${file}.map`, 'utf8'))) : undefined,
    );
  const { originalSource, originalLine, originalColumn } = maps.get(file)?.findEntry(line - 1, column - 1) ?? {};
  if (originalSource === undefined) return place;
  const source = fileURLToPath(new URL(originalSource, `file://${file}`));
  return `${relative(process.cwd(), source)}:${originalLine + 1}:${originalColumn + 1}`;
}
