// Counts the lines of src and workers that ran, from V8's raw coverage of all processes and threads of a test run:
//   npm test -- --coverage && node scripts/coverage.mjs [--root FOLDER] [--by-file]
// A line counts if the source maps of dist map code to it. It ran if any of that code ran, in its own module or in a
// bundle.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    root: { type: 'string', default: dirname(dirname(fileURLToPath(import.meta.url))) },
    folder: { type: 'string' },
    'by-file': { type: 'boolean', default: false },
  },
});
const root = resolve(values.root);
const folder = resolve(values.folder ?? join(root, 'coverage'));
const prefix = `file://${root}/dist/`;

/** By URL of a script: an array with a byte for each character, 1 where the character ran in any process. */
const scripts = new Map();

for (const name of readdirSync(folder).filter((name) => name.startsWith('coverage-'))) {
  let result;
  try {
    ({ result } = JSON.parse(readFileSync(join(folder, name), 'utf8')));
  } catch {
    continue; // A process was killed while it wrote this file.
  }
  for (const { url, functions } of result) {
    if (!url.startsWith(prefix) || !/^(src|workers)\//.test(url.slice(prefix.length))) continue;
    paint(url, functions);
  }
}

/** Marks what ran in one process. The count of a range holds for its characters outside of nested ranges. */
function paint(url, functions) {
  if (!scripts.has(url)) {
    const path = fileURLToPath(url);
    if (!existsSync(`${path}.map`)) return;
    const text = readFileSync(path, 'utf8');
    scripts.set(url, { text, ran: new Uint8Array(text.length), once: new Uint8Array(text.length) });
  }
  const script = scripts.get(url);
  if (script === undefined) return;
  const { ran, once } = script;
  once.fill(0);
  const ranges = functions.flatMap((one) => one.ranges);
  ranges.sort((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset);
  for (const { startOffset, endOffset, count } of ranges) once.fill(count > 0 ? 1 : 0, startOffset, endOffset);
  for (let i = 0; i < ran.length; i++) ran[i] |= once[i];
}

/** By source: its lines with code, and which of them ran. */
const sources = new Map();
for (const [url, { text, ran }] of scripts) {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  const payload = JSON.parse(readFileSync(`${fileURLToPath(url)}.map`, 'utf8'));
  for (const { generatedLine, generatedColumn, originalSource, originalLine } of entriesOf(
    new SourceMap(payload),
    starts,
    text.length,
  )) {
    const source = new URL(originalSource, url);
    if (source.protocol !== 'file:') continue;
    const path = relative(root, fileURLToPath(source));
    if (!/^(src|workers)\/.*\.tsx?$/.test(path)) continue;
    if (!sources.has(path)) sources.set(path, new Map());
    const lines = sources.get(path);
    lines.set(originalLine, lines.get(originalLine) || ran[starts[generatedLine] + generatedColumn] === 1);
  }
}

/** Each mapping of a source map once: asks for the entry of every column, and yields where a new entry begins. */
function* entriesOf(map, starts, length) {
  for (let line = 0; line < starts.length; line++) {
    const columns = (starts[line + 1] ?? length) - starts[line];
    let last = -1;
    for (let column = 0; column < columns; column++) {
      const entry = map.findEntry(line, column);
      if (entry.generatedLine !== line || entry.generatedColumn === last || entry.originalSource === undefined)
        continue;
      last = entry.generatedColumn;
      yield entry;
    }
  }
}

let all = 0;
let covered = 0;
for (const [path, lines] of [...sources].sort(([a], [b]) => (a < b ? -1 : 1))) {
  const ran = [...lines.values()].filter(Boolean).length;
  all += lines.size;
  covered += ran;
  if (values['by-file'])
    console.log(`${((100 * ran) / lines.size).toFixed(1).padStart(6)} %  ${ran} of ${lines.size}  ${path}`);
}
console.log(`${sources.size} files, ${covered} of ${all} lines with code ran: ${((100 * covered) / all).toFixed(2)} %`);
