// Builds dist: TypeScript with typia's transform, the AssemblyScript kernel, the console, the addons, the files that
// are shipped as they are, and the server's programs in one file each. Called by setup.mjs, under its lock. The build
// is made beside dist and takes its place in the end, so dist is always whole and holds nothing of deleted sources. Its
// stamp is a digest of path, time and size of every source.
import { spawnSync } from 'node:child_process';
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
import { compileAddon } from './native.mjs';

const SOURCE_FOLDERS = ['src', 'workers', 'test', 'load'];
const ASSET_FOLDERS = ['src', 'workers'];
const BUILD_FILES = [
  'package-lock.json',
  'tsconfig.json',
  'scripts/build.mjs',
  'scripts/bundle.mjs',
  'scripts/console.mjs',
  'scripts/kernel.mjs',
  'scripts/native.mjs',
];

/** True when dist was built from the sources as they are now. */
export function isBuilt(root) {
  const stamp = join(root, 'dist/.stamp');
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === sourceDigest(root);
}

/** Builds dist anew. Throws Error with one line for the user, after the compiler's own lines. */
export async function build(root, say) {
  say('building');
  const digest = sourceDigest(root);
  const next = join(root, 'dist-next');
  rmSync(next, { recursive: true, force: true });
  compileTypeScript(root, next);
  // Not at the head: it needs packages, and set-up starts without any.
  const { buildKernel } = await import('./kernel.mjs');
  await buildKernel(root, next);
  const { buildConsole } = await import('./console.mjs');
  await buildConsole(root, join(next, 'src/ui/page'));
  buildAddons(root, next, say);
  copyAssets(root, next);
  const { bundlePrograms } = await import('./bundle.mjs');
  await bundlePrograms(next);
  writeFileSync(join(next, '.stamp'), digest);
  rmSync(join(root, 'dist'), { recursive: true, force: true });
  renameSync(next, join(root, 'dist'));
}

function compileTypeScript(root, outDir) {
  const compiler = join(root, 'node_modules/ts-patch/bin/tspc.js');
  const { status } = spawnSync(process.execPath, [compiler, '-p', root, '--outDir', outDir], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (status !== 0) throw new Error('the TypeScript build failed: mend the lines above and run the command again.');
}

/**
 * Each .cc becomes an addon in its place. The one there is, huge pages, is worth a third of the building of graphs and
 * a twentieth of searches; without a compiler the server does without.
 */
function buildAddons(root, outDir, say) {
  for (const path of SOURCE_FOLDERS.flatMap((folder) => filesBelow(root, folder)).filter((path) =>
    path.endsWith('.cc'),
  )) {
    const addon = join(outDir, path.replace(/\.cc$/, '.node'));
    mkdirSync(dirname(addon), { recursive: true });
    try {
      compileAddon(join(root, path), addon, ['-std=gnu++17']);
    } catch (error) {
      say(`without ${basename(path, '.cc')}: ${error.message}`);
    }
  }
}

/** What is neither TypeScript nor documentation is shipped as it is: tables, pages, pictures. */
function copyAssets(root, outDir) {
  for (const path of ASSET_FOLDERS.flatMap((folder) => filesBelow(root, folder))) {
    if (/\.(ts|md|cc)$/.test(path) || /^(workers\/shard\/assembly|src\/ui)\//.test(path)) continue;
    mkdirSync(dirname(join(outDir, path)), { recursive: true });
    copyFileSync(join(root, path), join(outDir, path));
  }
}

function sourceDigest(root) {
  const sources = SOURCE_FOLDERS.flatMap((folder) => filesBelow(root, folder)).filter((path) => !path.endsWith('.md'));
  const hash = createHash('sha256');
  for (const path of [...sources, ...BUILD_FILES]) {
    const { mtimeMs, size } = statSync(join(root, path));
    hash.update(`${path}\0${mtimeMs}\0${size}\n`);
  }
  return hash.digest('hex');
}

/** Paths of all files below a folder of the project, relative to the project, sorted. */
function filesBelow(root, folder) {
  if (!existsSync(join(root, folder))) return [];
  const entries = readdirSync(join(root, folder), { withFileTypes: true });
  const nested = entries.map((entry) => {
    const path = `${folder}/${entry.name}`;
    return entry.isDirectory() ? filesBelow(root, path) : [path];
  });
  return nested.flat().sort();
}
