// scripts/thread-rules.mjs on projects of a few files: which imports break a rule that a file head states, and that the
// script then fails.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { tempDirectory } from '../../kit/temp.js';

const MAINS = [
  'src/cli/serve.ts',
  ...['front', 'shard', 'search', 'embed', 'batch', 'log'].map((name) => `workers/${name}/worker.ts`),
  'workers/archive/main.ts',
];
/**
 * The files that the script permits other programs to load. They exist, since the script also fails for a permission
 * that nothing needs.
 */
const PERMITTED = {
  'Owner only.': ['hnsw/recall-tuner', 'quantization/training', 'memory/arena-image'].map(
    (name) => `src/engine/${name}.ts`,
  ),
  'Runs on the main thread.': [
    ...['collections/catalog-changes', 'collections/usage', 'embedding/embedders'].map(
      (name) => `src/service/${name}.ts`,
    ),
    ...['routes/console', 'routes/docs', 'routes/mcp', 'mcp/route-calls'].map((name) => `src/http/${name}.ts`),
  ],
};
const PERMITTED_IN: Readonly<Record<string, readonly string[]>> = {
  'workers/search/worker.ts': PERMITTED['Owner only.'],
  'workers/front/worker.ts': Object.values(PERMITTED).flat(),
};

function run(
  files: Readonly<Record<string, string>>,
  mains: readonly string[] = MAINS,
): { status: number; out: string } {
  const root = tempDirectory();
  const all: Record<string, string> = {};
  for (const path of mains)
    all[path] = (PERMITTED_IN[path] ?? []).map((used) => `import '../../${used.replace('.ts', '.js')}';\n`).join('');
  for (const [head, paths] of Object.entries(PERMITTED))
    for (const path of paths) all[path] = `// ${head}\nexport {};\n`;
  for (const [path, text] of Object.entries(files)) all[path] = (all[path] ?? '') + text;
  for (const [path, text] of Object.entries(all)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/thread-rules.mjs', root], {
    encoding: 'utf8',
  });
  return { status: status ?? -1, out: stdout + stderr };
}

const MAIN = '// Sessions.\n// Runs on the main thread.\nexport const a = 1;\n';

test('files that only their own program loads, and types that others import, break no rule', () => {
  const { status, out } = run({
    'src/a.ts': MAIN,
    'src/cli/serve.ts': "import { a } from '../a.js';\n",
    'workers/log/worker.ts':
      "import type { a } from '../../src/a.js';\nimport { type a as b } from '../../src/a.js';\n",
  });
  assert.match(out, /^11 thread rules, 0 broken$/m);
  assert.equal(status, 0);
});

for (const [what, files, message] of [
  [
    'a worker that loads a file of the main thread through another',
    {
      'src/a.ts': MAIN,
      'src/b.ts': "export * from './a.js';\n",
      'workers/log/worker.ts': "import '../../src/b.js';\n",
    },
    /src\/a\.ts: "Runs on the main thread", but the program log loads it/,
  ],
  [
    'a main thread that loads a file of the owners',
    { 'src/a.ts': '// Rows. Owner only.\nexport {};\n', 'src/cli/serve.ts': "import '../a.js';\n" },
    /src\/a\.ts: "Owner only\.", but the program main loads it/,
  ],
  [
    'a front thread that loads a file of the main thread',
    { 'src/a.ts': MAIN, 'workers/front/worker.ts': "import '../../src/a.js';\n" },
    /src\/a\.ts: "Runs on the main thread", but the program front loads it/,
  ],
  [
    'a main thread that loads a file of the front threads',
    { 'src/a.ts': '// Forwards. Front threads only.\nexport {};\n', 'src/cli/serve.ts': "import '../a.js';\n" },
    /src\/a\.ts: "Front threads only\.", but the program main loads it/,
  ],
  [
    'an owner that loads a file of the searching threads',
    {
      'src/a.ts': '// Merges. Searching threads only; not shared.\nexport {};\n',
      'workers/front/worker.ts': "import '../../src/a.js';\n",
      'workers/shard/worker.ts': "import '../../src/a.js';\n",
    },
    /src\/a\.ts: "Searching threads only", but the program owner loads it/,
  ],
  [
    'an owner that loads a file of the search workers',
    {
      'src/a.ts': '// Ranking. Search workers\n// only.\nexport {};\n',
      'workers/shard/worker.ts': "import '../../src/a.js';\n",
    },
    /src\/a\.ts: "Search workers only\.", but the program owner loads it/,
  ],
] as const) {
  test(`${what} breaks a rule`, () => {
    const { status, out } = run(files);
    assert.match(out, message);
    assert.equal(status, 1);
  });
}

test('a permission that nothing needs fails, and so does a main module that is not there', () => {
  const useless = run(
    { 'workers/search/worker.ts': '' },
    MAINS.filter((path) => !path.includes('search')),
  );
  assert.match(useless.out, /permits src\/engine\/memory\/arena-image\.ts search for nothing/);
  assert.equal(useless.status, 1);
  const gone = run({}, MAINS.slice(1));
  assert.match(gone.out, /src\/cli\/serve\.ts, the main module of main, is not there/);
  assert.notEqual(gone.status, 0);
});
