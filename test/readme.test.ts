// The README's tables are those of the code.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ERROR_CODES } from '../src/contract/errors.js';

const readme = readFileSync('README.md', 'utf8');

test('the README has every error code with status, meaning and whether a retry helps', () => {
  for (const [code, { status, meaning, retryable }] of Object.entries(ERROR_CODES)) {
    const row = `| \`${code}\` | ${status} | ${meaning} | ${retryable ? 'yes' : 'no'} |`;
    assert.ok(readme.includes(row), `README.md lacks the row\n${row}`);
  }
});
