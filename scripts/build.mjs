// Builds dist from the sources, and repeats only what has changed since the last build: a one-line change costs one
// transpiled file and the bundles that contain it. Two builds must not run at once in a checkout.
//
// The steps; dist/.build.json records the inputs that each of them read the last time:
//   validators   files that use typia, and the client's declarations, by the TypeScript compiler (validators.mjs)
//   transpile    every other TypeScript file, one by one (esbuild); types are checked by `npm run check`, not here
//   kernel       AssemblyScript to WebAssembly (kernel.mjs)
//   console      the pages of /ui (console.mjs)
//   docs         the pages of /docs (docs-pages.mjs)
//   addons       .cc files (native.mjs)
//   assets       files that are copied as they are
//   bundles      the server's programs in one file each (bundle.mjs)
// A change of a build script, of package-lock.json or of tsconfig.json rebuilds everything.
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { bundleProgram } from './bundle.mjs';
import { compileAddon } from './native.mjs';
import { usesTypia, declarationsOf } from './validators.mjs';

const SOURCE_FOLDERS = ['src', 'workers', 'test', 'load'];
/** The inputs of the pages of /docs outside docs/. */
const DOCS_FILES = ['CHANGELOG.md', 'CONTRIBUTING.md', 'README.md', 'package.json', 'scripts/docs-pages.css'];
const BUILD_SCRIPTS = ['build', 'bundle', 'console', 'docs-pages', 'kernel', 'native', 'thread', 'validators'];
const BUILD_FILES = ['package-lock.json', 'tsconfig.json', ...BUILD_SCRIPTS.map((name) => `scripts/${name}.mjs`)];
const RECORD = 'dist/.build.json';

const isAssemblyScript = (path) => /^src\/(engine\/kernel|base\/assembly)\//.test(path);
/** Files of the console that only become part of its page. The .ts modules need no page: tests import them. */
const isPage = (path) => path.startsWith('src/console/') && !/^src\/console\/.*\.ts$/.test(path);
const isProgram = (path) => /^(src\/main|workers\/[^/]+\/(main|worker))\.ts$/.test(path);
const isTypeScript = (path) => path.endsWith('.ts') && !path.endsWith('.d.ts') && !isAssemblyScript(path);
/** Tests are transpiled without validators. */
const isCompiled = (path) => /^(src|workers|load)\//.test(path) && isTypeScript(path);
const isAsset = (path) =>
  /^(src|workers)\//.test(path) &&
  !/\.(ts|tsx|md|cc)$/.test(path) &&
  !isPage(path) &&
  !isAssemblyScript(path) &&
  !path.endsWith('tsconfig.json');

/** True when dist was built from the sources as they are now. */
export const isBuilt = (root) => {
  const { changed, removed, record } = whatToBuild(root);
  return changed.length === 0 && removed.length === 0 && !record.cutShort;
};

/** Brings dist up to date; `anew` removes dist first. Throws an Error with one line for the user. */
export async function build(root, say, { anew = false } = {}) {
  if (anew) rmSync(join(root, 'dist'), { recursive: true, force: true });
  const { sources, record, changed, removed } = whatToBuild(root);
  const { length } = [...changed, ...removed];
  say(
    length === sources.size
      ? 'building'
      : `building what ${length === 1 ? 'a changed file touches' : `${length} changed files touch`}`,
  );
  if (length === sources.size) rmSync(join(root, 'dist'), { recursive: true, force: true });
  writeRecord(root, { ...record, cutShort: true });

  const step = stepRunner(root, sources, record);
  /**
   * The validators step compiles the files that use typia, so this step leaves them out. A file may start or stop using
   * typia between two builds.
   */
  const compile = async () => {
    const newOnes = changed.filter(
      (path) => isCompiled(path) && usesTypia(root, path) && !record.steps.validators?.inputs[path],
    );
    if (newOnes.length > 0) delete record.steps.validators;
    await step(
      'validators',
      () => inThread('validators.mjs', 'buildValidators', root, [...sources.keys()].filter(isCompiled)),
      (path) => declarationsOf(root, path),
    );
    await transpile(
      root,
      changed.filter((path) => isTypeScript(path) && !isProgram(path) && !(isCompiled(path) && usesTypia(root, path))),
    );
  };
  for (const path of removed) removeOutputs(root, path, record);
  await settleAll([
    compile(),
    step('kernel', () => inThread('kernel.mjs', 'buildKernel', root, join(root, 'dist'))),
    step('console', () => inThread('console.mjs', 'buildConsole', root, join(root, 'dist/src/console/page'))),
    step('docs', () => inThread('docs-pages.mjs', 'buildDocs', root, join(root, 'dist/src/docs'))),
    ...changed.filter((path) => path.endsWith('.cc')).map((path) => buildAddon(root, path, say)),
    ...changed.filter(isAsset).map(async (path) => copyAsset(root, path)),
  ]);
  const programs = [...sources.keys()].filter(isProgram);
  await settleAll(programs.map((path) => step(path, () => bundleProgram(root, path, record.steps.validators.outputs))));
  writeRecord(root, { ...record, sources: Object.fromEntries(sources), cutShort: false });
}

/** The sources, and those that have changed since the last build that ran to its end. */
function whatToBuild(root) {
  const sources = listSources(root);
  const tools = digest(BUILD_FILES.map((path) => rowVersionOf(root, path)));
  const last = readRecord(root);
  const record = last?.tools === tools ? last : { tools, sources: {}, steps: {}, cutShort: true };
  const changed = [...sources].filter(([path, stamp]) => record.sources[path] !== stamp).map(([path]) => path);
  const removed = Object.keys(record.sources).filter((path) => !sources.has(path));
  return { sources, record, changed, removed };
}

/**
 * Runs a step if an input that it read the last time has changed, appeared or disappeared, and records what it reads
 * now. A step returns `{ inputs, outputs }`, as paths relative to the root; outputs of the last run that the step did
 * not write again are removed. `look` returns what the step sees of an input, where that is less than all of its bytes.
 */
function stepRunner(root, sources, record) {
  const stamp = (path) => sources.get(path) ?? rowVersionOf(root, path);
  const isSeenAs = (path, seen, look) => look !== undefined && stamp(path) !== '' && seen === digest(look(path));
  return async (name, run, look) => {
    const last = record.steps[name];
    const stale = last && Object.keys(last.inputs).filter((path) => last.inputs[path].stamp !== stamp(path));
    if (stale?.every((path) => isSeenAs(path, last.inputs[path].seen, look))) {
      for (const path of stale) last.inputs[path].stamp = stamp(path);
      return;
    }
    const { inputs, outputs = [] } = await run();
    for (const path of last?.outputs ?? []) if (!outputs.includes(path)) rmSync(join(root, path), { force: true });
    const read = inputs.map((path) => [path, { stamp: stamp(path), ...(look && { seen: digest(look(path)) }) }]);
    record.steps[name] = { inputs: Object.fromEntries(read), outputs };
  };
}

/** Waits for all promises, and throws the first failure only then, so that no step keeps running. */
async function settleAll(promises) {
  const failed = (await Promise.allSettled(promises)).find(({ status }) => status === 'rejected');
  if (failed) throw asOneLine(failed.reason);
}

/** The error as one line; esbuild reports a list of errors. */
function asOneLine(error) {
  if (!error.errors?.length) return error;
  const [{ location, text }, ...others] = error.errors;
  const place = location ? `${location.file}:${location.line}:${location.column + 1}: ` : '';
  return new Error(`${place}${text}${others.length > 0 ? ` (and ${others.length} more)` : ''}`);
}

async function transpile(root, paths) {
  if (paths.length === 0) return;
  const esbuild = await import('esbuild'); // Not at the top: setup starts before packages are installed.
  const entryPoints = paths.map((path) => join(root, path));
  await esbuild.build({
    entryPoints,
    outdir: join(root, 'dist'),
    outbase: root,
    format: 'esm',
    target: 'node20',
    sourcemap: true,
    sourcesContent: false,
    absWorkingDir: root,
    logLevel: 'silent',
  });
}

/**
 * Compiles a native addon. The only one is for the pages of arenas: huge pages speed up graph building by a third and
 * searches by a twentieth. Where there is no compiler, the server runs without it.
 */
async function buildAddon(root, path, say) {
  const addon = join(root, 'dist', path.replace(/\.cc$/, '.node'));
  mkdirSync(dirname(addon), { recursive: true });
  try {
    await compileAddon(join(root, path), addon, ['-std=gnu++20']);
  } catch (error) {
    say(`without ${basename(path, '.cc')}: ${error.message}`);
  }
}

function copyAsset(root, path) {
  mkdirSync(dirname(join(root, 'dist', path)), { recursive: true });
  copyFileSync(join(root, path), join(root, 'dist', path));
}

function removeOutputs(root, path, { steps }) {
  for (const output of steps[path]?.outputs ?? []) rmSync(join(root, output), { force: true });
  delete steps[path];
  const stem = path.replace(/\.(ts|cc)$/, '');
  for (const end of path.endsWith('.ts') ? ['.js', '.js.map', '.d.ts'] : path.endsWith('.cc') ? ['.node'] : [''])
    rmSync(join(root, 'dist', stem + end), { force: true });
}

/** Runs `module[name](...args)` on a thread, so that compilers that take seconds run in parallel. */
function inThread(module, name, ...args) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./thread.mjs', import.meta.url), {
      workerData: { module: `./${module}`, name, args },
    });
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}

const digest = (value) => createHash('sha256').update(JSON.stringify(value)).digest('hex');

/** A file's modification time and size; '' where there is no such file. */
function rowVersionOf(root, path) {
  const stat = statSync(join(root, path), { throwIfNoEntry: false });
  return stat ? `${stat.mtimeMs}:${stat.size}` : '';
}

/** Modification time and size of every source by path, sorted by path. */
function listSources(root) {
  const sources = SOURCE_FOLDERS.flatMap((folder) => filesBelow(root, folder)).filter((path) => !path.endsWith('.md'));
  const paths = [...sources, ...filesBelow(root, 'docs'), ...DOCS_FILES.filter((path) => existsSync(join(root, path)))];
  return new Map(paths.map((path) => [path, rowVersionOf(root, path)]));
}

/** Paths of all files below a folder of the project, relative to the project, sorted. */
function filesBelow(root, folder) {
  if (!existsSync(join(root, folder))) return [];
  const entries = readdirSync(join(root, folder), { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return entries.map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(root.length + 1)).sort();
}

function readRecord(root) {
  try {
    return JSON.parse(readFileSync(join(root, RECORD), 'utf8'));
  } catch {
    return undefined; // The record is missing, or an older build wrote it.
  }
}

function writeRecord(root, record) {
  mkdirSync(join(root, 'dist'), { recursive: true });
  writeFileSync(join(root, `${RECORD}.next`), JSON.stringify(record));
  renameSync(join(root, `${RECORD}.next`), join(root, RECORD));
}
