// Checks that imports keep the thread rules that file heads state: `npm run check -- thread`. A file that says "Runs on
// the main thread" may not be loaded by any worker, and one that says "Search workers only" by no other program. A
// program loads a file if its main module imports it, directly or through other files; imports of types load nothing.
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

/** The main modules by the name of the thread or process. */
const PROGRAMS = {
  main: 'src/cli/serve.ts',
  front: 'workers/front/worker.ts',
  owner: 'workers/shard/worker.ts',
  search: 'workers/search/worker.ts',
  embed: 'workers/embed/worker.ts',
  batch: 'workers/batch/worker.ts',
  log: 'workers/log/worker.ts',
  archive: 'workers/archive/main.ts',
};

/**
 * Sentences of file heads, and the programs that may load such a file. The command line is not one of these programs.
 */
const RULES = [
  [/\b(Runs on the main thread|Main thread only)\b/, ['main']],
  [/\bFront threads only\./, ['front']],
  [/\bSearching threads only\b/, ['search', 'front']],
  [/\bSearch workers only\./, ['search']],
  [/\b(Embed worker only|Runs in embed workers only)\./, ['embed']],
  [/\bRuns in batch workers only\./, ['batch']],
  [/\b(Runs in|Used by) the log worker only\./, ['log']],
  [/\b(Archive process only|Runs in archive processes only)\./, ['archive']],
  [/(?<=^|[.:] )Owner only\.$/, ['owner']],
];

/** Files that another program loads without running their code there, and why it does. */
const NOT_RUN = {
  ...forEach(['search', 'front'], {
    'src/engine/hnsw/recall-tuner.ts': 'VectorIndex has the searches of any thread and the tuning of the owner',
    'src/engine/quantization/training.ts': 'the recall tuner imports it',
    'src/engine/memory/arena-image.ts': 'Arena has the kernels of readers and the images of the owner',
  }),
  ...forEach(['front'], {
    'src/service/collections/catalog-changes.ts': 'collections.ts has the lookup of the common collection',
    'src/service/collections/usage.ts': 'collections.ts has the lookup of the common collection',
    'src/service/embedding/embedders.ts': 'Rerankers use the circuit breaker of embedders',
    'src/http/routes/console.ts': 'has the definitions of its routes beside their handlers',
    'src/http/routes/docs.ts': 'has the definitions of its routes beside their handlers',
    'src/http/routes/mcp.ts': 'has the definitions of its routes beside their handlers',
    'src/http/mcp/route-calls.ts': 'the handlers of routes/mcp.ts use it',
  }),
};

function forEach(programs, reasons) {
  const entries = Object.entries(reasons);
  return Object.fromEntries(programs.flatMap((name) => entries.map(([path, why]) => [`${path} ${name}`, why])));
}

const root = process.argv[2] ?? dirname(dirname(fileURLToPath(import.meta.url)));

/** The head of a file, which is the comment at its start, as one line; and the files whose code it imports. */
function read(path) {
  const text = readFileSync(join(root, path), 'utf8');
  const lines = text.split('\n');
  const end = lines.findIndex((line) => !line.startsWith('//'));
  const head = lines
    .slice(0, end)
    .map((line) => line.slice(2).trim())
    .join(' ');
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest);
  const imports = source.statements.filter(loadsCode).map(({ moduleSpecifier }) => moduleSpecifier.text);
  return { head, imports: imports.filter((name) => name.startsWith('.')).map((name) => sourceOf(path, name)) };
}

function loadsCode(statement) {
  if (ts.isExportDeclaration(statement)) return statement.moduleSpecifier !== undefined && !statement.isTypeOnly;
  if (!ts.isImportDeclaration(statement)) return false;
  const clause = statement.importClause;
  if (clause === undefined || clause.name) return true;
  const names = clause.namedBindings;
  const isTypes = names && ts.isNamedImports(names) && names.elements.every(({ isTypeOnly }) => isTypeOnly);
  return !clause.isTypeOnly && !isTypes;
}

const sourceOf = (path, name) => relative('/', join('/', dirname(path), name)).replace(/\.js$/, '.ts');

function loadedBy(main, files) {
  const loaded = new Set();
  const waiting = [main];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (loaded.has(path) || !files.has(path)) continue;
    loaded.add(path);
    waiting.push(...files.get(path).imports);
  }
  return loaded;
}

const sources = ['src', 'workers'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true }).map((path) => `${folder}/${path}`),
);
const files = new Map(sources.filter((path) => /\.tsx?$/.test(path)).map((path) => [path, read(path)]));
const loaded = Object.entries(PROGRAMS).map(([name, main]) => {
  if (!files.has(main)) throw new Error(`${main}, the main module of ${name}, is not there`);
  return [name, loadedBy(main, files)];
});
const faults = [];
const useless = new Set(Object.keys(NOT_RUN));
let held = 0;
for (const [path, { head }] of files) {
  for (const [sentence, allowed] of RULES) {
    const stated = sentence.exec(head)?.[0];
    if (!stated) continue;
    held++;
    for (const [name, paths] of loaded) {
      if (!paths.has(path) || allowed.includes(name)) continue;
      if (!useless.delete(`${path} ${name}`))
        faults.push(`${path}: "${stated.trim()}", but the program ${name} loads it`);
    }
  }
}
for (const one of useless) faults.push(`scripts/thread-rules.mjs permits ${one} for nothing`);
for (const fault of faults) console.error(fault);
console.log(`${held} thread rules, ${faults.length} broken`);
process.exitCode = faults.length > 0 || held === 0 ? 1 : 0;
