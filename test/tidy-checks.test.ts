// The tidy checks themselves: each finds what is planted, and lets what is right be. Nothing here looks at the real
// sources.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorCodeComplaints } from './kit/tidy/error-codes.js';
import {
  consoleComplaints,
  defaultExportComplaints,
  environmentComplaints,
  headComplaints,
  noteComplaints,
} from './kit/tidy/habits.js';
import { libraryComplaints } from './kit/tidy/libraries.js';
import { linkComplaints } from './kit/tidy/links.js';
import { orphanComplaints } from './kit/tidy/orphans.js';
import { sourceFile, type SourceFile } from './kit/tidy/project.js';
import { cycleComplaints, rankComplaints } from './kit/tidy/ranks.js';
import { fileSizes, functionSizes, ratchetComplaints } from './kit/tidy/sizes.js';

const plant = (sources: Record<string, string>): SourceFile[] =>
  Object.entries(sources).map(([path, text]) => sourceFile(path, text));

/** One complaint for each of `patterns`, in order. */
function found(complaints: readonly string[], ...patterns: RegExp[]): void {
  assert.equal(complaints.length, patterns.length, complaints.join('\n'));
  patterns.forEach((pattern, i) => assert.match(complaints[i] as string, pattern));
}

test('ranks: lower ranks and the own folder are seen, nothing else', () => {
  const imports = (path: string, specifier: string, kind = 'import'): string[] =>
    rankComplaints(plant({ [path]: `${kind} { a } from '${specifier}';` }));
  found(imports('src/http/a.ts', '../service/b.js'));
  found(imports('src/http/endpoints/a.ts', '../wire.js'));
  found(imports('src/main.ts', './cli/program.js'));
  found(
    imports('src/service/a.ts', '../http/b.js'),
    /^src\/service\/a\.ts:1 imports \.\.\/http\/b\.js: rank 6 sees only lower ranks/,
  );
  found(imports('src/pool/a.ts', '../store/b.js'), /rank 3 sees only lower ranks/);
  found(imports('src/pool/a.ts', '../store/b.js', 'import type'), /rank 3/);
  found(imports('src/pool/a.ts', '../store/b.js', 'export'), /rank 3/);
  found(imports('src/serve.ts', './main.js'), /rank 8/);
  found(imports('src/novel/a.ts', '../base/b.js'), /src\/novel has no rank/);
  found(
    rankComplaints(plant({ 'src/base/a.ts': "type B = import('../text/b.js').B; await import('../rank/c.js');" })),
    /text\/b/,
    /rank\/c/,
  );
});

test('ranks: src sees no workers and no tests, workers see only what is pure and the store', () => {
  const imports = (path: string, specifier: string): string[] =>
    rankComplaints(plant({ [path]: `import { a } from '${specifier}';` }));
  found(imports('src/pool/a.ts', '../../workers/shard/b.js'), /src knows nothing of workers/);
  found(imports('src/pool/a.ts', '../../test/kit/b.js'), /src knows nothing of test/);
  found(imports('workers/shard/a.ts', '../../src/store/b.js'));
  found(imports('workers/shard/a.ts', './assembly/b'));
  found(imports('workers/shard/a.ts', '../../src/pool/b.js'), /workers see only/);
  found(imports('workers/shard/a.ts', '../../test/kit/b.js'), /workers see only/);
  found(imports('workers/shard/a.ts', '../embed/b.js'), /workers do not see each other/);
});

test('ranks: the client and the console take only types from the contract', () => {
  const client = (text: string): string[] => rankComplaints(plant({ 'src/client/a.ts': text }));
  found(client("import type { A } from '../contract/b.js'; import { type B } from '../contract/b.js';"));
  found(client("import { a } from '../contract/b.js';"), /use import type/);
  found(client("import { a, type B } from '../contract/b.js';"), /use import type/);
  found(client("import { a } from '../text/b.js';"), /rank 1/);
  found(
    rankComplaints(
      plant({
        'src/ui/search/a.tsx': "import type { A } from '../../contract/b.js'; import { a } from '../../client/b.js';",
      }),
    ),
  );
  found(
    rankComplaints(
      plant({ 'src/ui/a.tsx': "import { a } from '../contract/b.js'; import { b } from '../http/b.js';" }),
    ),
    /the console takes only types/,
    /rank 2/,
  );
});

test('cycles are found, of one file or many, and told once', () => {
  const [a, b, c] = ['./a.js', './b.js', './c.js'].map((path) => `import { x } from '${path}';`) as [
    string,
    string,
    string,
  ];
  found(cycleComplaints(plant({ 'src/a.ts': b + c, 'src/b.ts': c, 'src/c.ts': '' })));
  found(
    cycleComplaints(plant({ 'src/a.ts': b, 'src/b.ts': c, 'src/c.ts': a })),
    /cycle: src\/a\.ts -> src\/b\.ts -> src\/c\.ts -> src\/a\.ts/,
  );
  found(cycleComplaints(plant({ 'src/a.ts': a })), /src\/a\.ts -> src\/a\.ts/);
});

test('libraries: at home only, declared only, one door', () => {
  const declared = {
    dependencies: ['piscina', 'pino', 'uWebSockets.js', '@fastify/busboy'],
    devDependencies: ['typescript'],
  };
  const complaints = (sources: Record<string, string>): string[] => libraryComplaints(plant(sources), declared);
  found(complaints({ 'src/pool/a.ts': "import { Piscina } from 'piscina'; import 'node:fs'; import './b.js';" }));
  found(
    complaints({ 'src/service/a.ts': "import { Piscina } from 'piscina';" }),
    /^src\/service\/a\.ts:1 imports piscina, which only/,
  );
  found(complaints({ 'src/service/a.ts': "const busboy = require('@fastify/busboy');" }), /imports @fastify\/busboy/);
  found(
    complaints({ 'src/text/a.ts': "import x from 'left-pad/lib/x.js';" }),
    /imports left-pad, which package\.json does not name/,
  );
  found(
    complaints({ 'src/text/a.ts': "import ts from 'typescript';", 'test/a.ts': "import ts from 'typescript';" }),
    /^src\/text\/a\.ts:1 imports typescript, .* under dependencies$/,
  );
  found(complaints({ 'src/ui/a.tsx': "import ts from 'typescript'; import x from 'left-pad';" }), /imports left-pad/);
  found(
    complaints({ 'src/http/a.ts': "import 'uWebSockets.js';", 'src/http/b.ts': "import 'uWebSockets.js';" }),
    /is imported by src\/http\/a\.ts and src\/http\/b\.ts/,
  );
});

test('orphans: reached by nothing, or by tests alone', () => {
  const sources = {
    'src/main.ts': "import './used.js'; new URL('./page.js', import.meta.url);",
    'src/used.ts': '',
    'src/page.ts': '',
    'scripts/tables.mjs': "import '../dist/src/table.js';",
    'src/table.ts': '',
    'workers/shard/worker.ts': '',
    'workers/shard/assembly/index.ts': "import './row';",
    'workers/shard/assembly/row.ts': '',
    'test/a.test.ts': "import './kit/b.js';",
    'test/kit/b.ts': '',
  };
  found(orphanComplaints(plant(sources)));
  found(
    orphanComplaints(plant({ ...sources, 'src/lost.ts': "import './used.js';", 'test/kit/lost.ts': '' })),
    /^src\/lost\.ts is used by nothing/,
    /^test\/kit\/lost\.ts is used by nothing/,
  );
  found(
    orphanComplaints(plant({ 'src/twin.ts': '', 'test/a.test.ts': "import '../src/twin.js';" })),
    /^src\/twin\.ts is used by tests only/,
  );
});

test('sizes: files and functions are measured', () => {
  const files = plant({
    'src/a.ts':
      'class A {\n  b() {\n    [1].map((x) =>\n      x,\n    );\n  }\n}\nconst c = () => {\n};\nrun(() => {\n\n});\n',
  });
  assert.deepEqual([...fileSizes(files)], [['src/a.ts', 12]]);
  assert.deepEqual(
    [...functionSizes(files)],
    [
      ['src/a.ts A.b', 5],
      ['src/a.ts c', 2],
      ['src/a.ts (nameless)', 3],
    ],
  );
});

test('sizes: a ratchet only tightens', () => {
  const complaints = (size: number, allowances: Record<string, number>): string[] =>
    ratchetComplaints(new Map([['a', size]]), { aim: 10, max: 30, allowances });
  found(complaints(10, {}));
  found(complaints(15, { a: 15 }));
  found(complaints(11, {}), /"a" has 11 lines: split it to at most 10/);
  found(complaints(16, { a: 15 }), /grew from 15 to 16/);
  found(complaints(14, { a: 15 }), /lower its allowance/);
  found(complaints(10, { a: 15 }), /remove its allowance/);
  found(complaints(31, { a: 31 }), /nothing may have more than 30/);
  found(complaints(10, { gone: 15 }), /"gone" is no more/);
});

test('head comments: two to eight lines, after a shebang too; one is enough for a test', () => {
  const head = (text: string, path = 'src/a.ts'): string[] => headComplaints(plant({ [path]: text }));
  found(head('// What.\n// Who.\nimport "./b.js";'));
  found(head('#!/usr/bin/env node\n/* What.\n   Who. */\n'));
  found(head('// What.\n', 'test/a.test.ts'));
  found(head('// What.\nconst a = 1;\n// More.\n'), /^src\/a\.ts opens with 1 comment lines/);
  found(head('const a = 1;\n// What.\n// Who.\n', 'test/a.test.ts'), /opens with 0/);
  found(head('// Word.\n'.repeat(9)), /opens with 9/);
});

test('default exports are found in each of their forms', () => {
  const texts = [
    'export default 1;',
    'export default function a() {}',
    'export default class {}',
    'const a = 1; export { a as default };',
  ];
  for (const text of texts)
    found(defaultExportComplaints(plant({ 'src/a.ts': text })), /^src\/a\.ts:1 is a default export/);
  found(defaultExportComplaints(plant({ 'src/a.ts': 'export const a = 1; switch (a) { default: }' })));
});

test('the environment and the console are kept to their places', () => {
  const env = (path: string): string[] =>
    environmentComplaints(plant({ [path]: '// process.env in a comment\nconst a = process.env.HOME;' }));
  for (const path of ['src/config.ts', 'src/config-keys.ts', 'src/main.ts', 'test/a.ts', 'load/a.ts', 'scripts/a.mjs'])
    found(env(path));
  for (const path of ['src/pool/config.ts', 'workers/shard/a.ts', 'src/cli/a.ts'])
    found(env(path), /:2 reads process\.env/);
  const print = (path: string): string[] => consoleComplaints(plant({ [path]: 'console.log(1);' }));
  for (const path of ['src/cli/a.ts', 'load/a.ts']) found(print(path));
  for (const path of ['src/http/a.ts', 'workers/shard/a.ts']) found(print(path), /:1 prints to the console/);
});

test('notes to self are found', () => {
  found(
    noteComplaints(plant({ 'src/a.ts': 'const TODOS = 1;\n// TODO: more', 'load/a.ts': '// FIXME' })),
    /^src\/a\.ts:2/,
    /^load\/a\.ts:1/,
  );
});

test('error codes that nothing uses are found', () => {
  const table =
    'export const ERROR_CODES = { used: entry(400), also_used: entry(401), never_used: entry(402) } as const; const own = "never_used";';
  const files = plant({
    'src/contract/errors.ts': table,
    'src/a.ts': "throw new AppError('used'); ERROR_CODES.also_used;",
    'test/a.ts': "'never_used'",
  });
  found(errorCodeComplaints(files), /error code never_used is never used/);
  found(errorCodeComplaints(plant({ 'src/contract/errors.ts': '' })), /has no table ERROR_CODES/);
});

test('dead links are found', () => {
  const text =
    '# The Head, twice\n[a](b.md) [a](../c.md#x) [a](#the-head-twice) [a](https://example.com/x) `[a](code.md)`\n```\n[a](fence.md)\n```\n';
  const exists = (path: string): boolean => ['docs/b.md', 'c.md'].includes(path);
  found(linkComplaints([{ path: 'docs/README.md', text }], exists));
  found(
    linkComplaints([{ path: 'README.md', text: '[a](gone.md) [a](../up.md) [a](#none)' }], exists),
    /gone\.md, which does not exist/,
    /outside the project/,
    /no heading/,
  );
});
