// Every error code of the table is used: a code that nothing throws would be a false promise to clients.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ERROR_CODES } from '../../../src/api/errors.js';

/** The table of codes itself, and the documentation that is generated from it. */
const TELLS = /^src\/(api\/errors\.ts$|http\/openapi\/)/;

test('every error code of the table is used in src or workers', () => {
  const sources = ['src', 'workers']
    .flatMap((folder) => readdirSync(folder, { recursive: true }).map((path) => join(folder, String(path))))
    .filter((path) => /\.tsx?$/.test(path) && !TELLS.test(path))
    .map((path) => readFileSync(path, 'utf8').replaceAll(/^ *(\/\/|\*|\/\*).*$/gm, ''))
    .join('\n');
  const isUsed = (code: string): boolean => sources.includes(`'${code}'`) || sources.includes(`ERROR_CODES.${code}`);
  assert.ok(isUsed('not_found'));
  assert.deepEqual(
    Object.keys(ERROR_CODES).filter((code) => !isUsed(code)),
    [],
  );
});
