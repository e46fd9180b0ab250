// scripts/words.mjs on a project with its own glossary: what it finds in names, comments, messages and pages, and that
// it then fails.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { test } from 'node:test';
import { tempDirectory } from '../../kit/temp.js';

const GLOSSARY = `# Glossary

| Word | Meaning | Do not say |
|---|---|---|
| segment | what a shard keeps of a collection | *part* in \`src/engine\` and \`workers\` |
| worker pool | threads of one kind | crew, (gang) |
| log replay | what was committed since | catch-up |
`;

const SCRIPT = 'scripts/words.mjs';

/**
 * A copy of the script in a new project. The script fails for a permission that nothing needs, so its own list is
 * replaced.
 */
function projectWith(files: Readonly<Record<string, string>>, allowed = ''): string {
  const root = tempDirectory();
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  const script = readFileSync(SCRIPT, 'utf8').replace(
    /const ALLOWED = \[[\s\S]*?\n\];/,
    `const ALLOWED = [${allowed}];`,
  );
  assert.ok(script.includes(`const ALLOWED = [${allowed}];`));
  write(SCRIPT, script);
  write('docs/reference/glossary.md', GLOSSARY);
  for (const [file, text] of Object.entries(files)) write(file, text);
  symlinkSync(resolve('node_modules'), join(root, 'node_modules'));
  return root;
}

function run(root: string): { status: number | null; out: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [SCRIPT], { cwd: root, encoding: 'utf8' });
  return { status, out: stdout + stderr };
}

const BROKEN: readonly (readonly [string, string, RegExp])[] = [
  ['src/engine/a.ts', 'export const partRoots = 1;\n', /src\/engine\/a\.ts:1 says part: partRoots/],
  ['src/engine/a.ts', '\nexport class LARGE_PARTS {}\n', /src\/engine\/a\.ts:2 says part: LARGE_PARTS/],
  ['workers/a.ts', 'export interface A { readonly part: number }\n', /workers\/a\.ts:1 says part: part/],
  ['src/engine/part-table.ts', 'export {};\n', /src\/engine\/part-table\.ts:1 says part: part-table\.ts/],
  [
    'src/http/a.ts',
    '// The crew of the\n// shard.\nexport {};\n',
    /src\/http\/a\.ts:1 says crew: … \/\/ The crew of the/,
  ],
  ['src/http/a.ts', "export const a = 'two crews at work';\n", /src\/http\/a\.ts:1 says crew/],
  ['test/a.ts', '/**\n * Then it does its catch\n * up.\n */\nexport {};\n', /test\/a\.ts:2 says catch-up/],
  ['docs/guide/a.md', '# A\n\nA crew.\n', /docs\/guide\/a\.md:3 says crew/],
];

for (const [file, text, said] of BROKEN)
  test(`found: ${JSON.stringify(text)} in ${file}`, () => {
    const { status, out } = run(projectWith({ [file]: text }));
    assert.match(out, said);
    assert.match(out, /3 words, \d+ files, 1 found\n$/);
    assert.equal(status, 1);
  });

test('words within other words, of other folders, of code in prose, and those that are advice are fine', () => {
  const root = projectWith({
    'src/engine/a.ts': '// A part of a crewel, a gang, and `crew`.\nexport const partial = 1;\n',
    'src/http/part.ts': "export const part = 'crew';\n",
    'docs/guide/a.md': '`crew`, the parts\n\n```\ncrew\n```\n',
  });
  assert.deepEqual(run(root), { status: 0, out: '3 words, 3 files, 0 found\n' });
});

test('what is allowed is not told, and a permission that nothing needs is', () => {
  const allowed = "['src/http/a.ts', ['crew'], 'why']";
  const files = { 'src/http/a.ts': '// A crew.\nexport {};\n' };
  assert.deepEqual(run(projectWith(files, allowed)), { status: 0, out: '3 words, 1 files, 0 found\n' });
  const { status, out } = run(projectWith({}, allowed));
  assert.match(out, /allows crew in src\/http\/a\.ts for nothing/);
  assert.equal(status, 1);
});

test('a glossary without words, or with one that cannot be read, fails', () => {
  for (const glossary of ['# Glossary\n', '| a | b | `c` |\n']) {
    const root = projectWith({});
    writeFileSync(join(root, 'docs/reference/glossary.md'), glossary);
    assert.equal(run(root).status, 1, glossary);
  }
});
