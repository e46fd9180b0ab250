// The tables of the conformance tests are those of the specification: its endpoint rows, read from ../shared/spec.md
// where that exists, are compared with the rows of test/kit/conformance/endpoints and with those that are postponed.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { nameOf } from '../../kit/conformance/endpoint.js';
import { ENDPOINTS } from '../../kit/conformance/statuses.js';

const FILE = '../shared/spec.md';
const skip = existsSync(FILE) ? false : `${FILE} is not here`;

interface Row {
  name: string;
  statuses: number[];
}

/** The rows of the endpoint tables: method, path, and cells that contain the success and the other statuses. */
function rowsOf(page: string): Row[] {
  const rows = [...page.matchAll(/^\| (GET|POST|PUT|PATCH|DELETE) \| (\S+) \| (.+) \|$/gm)];
  return rows.map(([, method, path, cells = '']) => {
    const success = /(?:^|\| )(20\d)\b/.exec(cells)?.[1] ?? '200';
    const others = /\| (\d{3}(?:, \d{3})*)(?= \||$)/.exec(cells)?.[1] ?? '';
    return { name: `${method} ${path}`, statuses: [success, ...others.split(', ').filter(Boolean)].map(Number) };
  });
}

test('every row of the specification is in the matrix', { skip }, () => {
  const specified = rowsOf(readFileSync(FILE, 'utf8'));
  assert.ok(specified.length > 40, String(specified.length));
  const known = new Set<string>(ENDPOINTS.map(nameOf));
  assert.deepEqual(
    specified.filter(({ name }) => !known.has(name)).map(({ name }) => name),
    [],
  );
  assert.equal(known.size, specified.length);
});

test('the matrix has the statuses of each row; health aside, whose table has none', { skip }, () => {
  const specified = new Map(rowsOf(readFileSync(FILE, 'utf8')).map(({ name, statuses }) => [name, statuses]));
  for (const endpoint of ENDPOINTS.filter(({ path }) => path.startsWith('/v1/'))) {
    const { success, others } = endpoint;
    assert.deepEqual([success, ...others].sort(), specified.get(nameOf(endpoint))?.sort(), nameOf(endpoint));
  }
});
