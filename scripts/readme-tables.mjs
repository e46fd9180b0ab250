// Writes the tables of README.md that come from the code: configuration keys and error codes. Run it after a build when
// one of them has changed: node scripts/readme-tables.mjs. With --check it writes nothing, and fails where they differ.
import { readFileSync, writeFileSync } from 'node:fs';
import { CONFIG_KEYS, envNameOf } from '../dist/src/config/keys.js';
import { ERROR_CODES } from '../dist/src/api/errors.js';

const configRows = CONFIG_KEYS.map(
  ({ path, fallback, fallbackText, meaning }) =>
    `| \`${path}\` | \`${envNameOf(path)}\` | ${fallbackText ?? `\`${fallback}\``} | ${meaning} |`,
);
const errorRows = Object.entries(ERROR_CODES).map(
  ([code, { status, meaning, retryable }]) => `| \`${code}\` | ${status} | ${meaning} | ${retryable ? 'yes' : 'no'} |`,
);

/** Replaces the rows of the table that begins with `header`. */
function withRows(text, header, rows) {
  const lines = text.split('\n');
  const start = lines.indexOf(header) + 2;
  if (start < 2) throw new Error(`README.md has no table ${header}`);
  let end = start;
  while (lines[end].startsWith('|') || lines[end].startsWith('@')) end++;
  lines.splice(start, end - start, ...rows);
  return lines.join('\n');
}

const readme = new URL('../README.md', import.meta.url);
const before = readFileSync(readme, 'utf8');
let text = withRows(before, '| Key | Variable | Default | Meaning |', configRows);
text = withRows(text, '| Code | Status | Meaning | Retry helps |', errorRows);
if (!process.argv.includes('--check')) writeFileSync(readme, text);
else if (text !== before) {
  console.error('README.md: its tables differ from the code: run `node scripts/readme-tables.mjs`');
  process.exitCode = 1;
}
