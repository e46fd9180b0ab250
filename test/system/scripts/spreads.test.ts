// scripts/spreads.mjs on projects of a few files: which spreads add what the expected type lacks, and which do not.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { tempDirectory } from '../../kit/temp.js';

const CONFIG = JSON.stringify({ compilerOptions: { strict: true, target: 'ES2022', types: [] }, include: ['*.ts'] });
const TYPES = `
interface Put { text: string; shadow?: string }
interface Delete { id: number }
declare function put(one: Put): void;
declare function change(one: Put | Delete): void;
declare function note(fields: Record<string, unknown>): void;
declare function keep<T>(value: T): T;
declare const copy: string | undefined;
declare const wide: Put & { copy: string };
declare const made: () => Put & { copy: string };
`;

function run(text: string, more: Readonly<Record<string, string>> = {}): { status: number; out: string } {
  const root = tempDirectory();
  const files = { 'tsconfig.json': CONFIG, 'a.ts': TYPES + text, ...more };
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/spreads.mjs', root], { encoding: 'utf8' });
  return { status: status ?? -1, out: stdout + stderr };
}

test('spreads that add what the type has, and those into open types, break nothing', () => {
  const { status, out } = run(`
put({ text: '', ...(copy && { shadow: copy }) });
change({ text: '', ...(copy ? { shadow: copy } : {}) });
note({ ...(copy && { copy }) });
keep({ ...(copy && { copy }) });
const any = { ...(copy && { copy }) };
`);
  assert.deepEqual([status, out], [0, '3 spreads, 0 broken\n']);
});

test('a spread of a variable or of a property is not held to the type', () => {
  const { status, out } = run(`
put({ ...wide });
put({ ...{ wide }.wide, ...(copy && { shadow: copy }) });
`);
  assert.deepEqual([status, out], [0, '1 spreads, 0 broken\n']);
});

for (const [what, text, message] of [
  [
    'a property of an argument under an old name',
    "put({ text: '', ...(copy && { copy }) });",
    /^a\.ts:12: a spread adds copy, which Put does not have$/m,
  ],
  [
    'a property that no type of a union has',
    "change({ id: 1, ...(copy ? { shadow: copy } : { copy: '' }) });",
    /^a\.ts:12: a spread adds copy, which Put \| Delete does not have$/m,
  ],
  [
    'a property of a variable with a type',
    'const one: Put = { ...made() };',
    /^a\.ts:12: a spread adds copy, which Put does not have$/m,
  ],
  [
    'a property in an object within an answer',
    "const all = (): { puts: Put[] } => ({ puts: [{ text: '', ...(copy && { copy }) }] });",
    /^a\.ts:12: a spread adds copy, which Put does not have$/m,
  ],
] as const) {
  test(`${what} is found`, () => {
    const { status, out } = run(`\n${text}\n`);
    assert.match(out, message);
    assert.match(out, /^1 spreads, 1 broken$/m);
    assert.equal(status, 1);
  });
}

test('the console, which is a project of its own, is held as well', () => {
  const { status, out } = run("put({ text: '', ...(copy && { shadow: copy }) });", {
    'src/console/tsconfig.json': CONFIG,
    'src/console/b.ts': `${TYPES}put({ text: '', ...(copy && { copy }) });`,
  });
  assert.match(out, /^src\/console\/b\.ts:11: a spread adds copy/m);
  assert.equal(status, 1);
});

test('a project without spreads fails, for nothing would be checked, and so does one that cannot be read', () => {
  assert.deepEqual(run(''), { status: 1, out: '0 spreads, 0 broken\n' });
  assert.notEqual(run('', { 'tsconfig.json': '{ "include": ["none/*.ts"] }' }).status, 0);
});
