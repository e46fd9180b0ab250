// Builds node-lmdb when none of its prebuilt binaries loads, because they need a newer glibc than many servers have;
// and compiles other native addons. It calls the C++ compiler directly: node-gyp would need Python and a download of
// Node's headers, and this project promises to need neither. Every official distribution of Node has the headers beside
// the binary.
import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';

/** True when `require('node-lmdb')` works in a new process of this version of Node. */
export function lmdbLoads(root) {
  return spawnSync(process.execPath, ['-e', "require('node-lmdb')"], { cwd: root, stdio: 'ignore' }).status === 0;
}

/**
 * Compiles node-lmdb into its build/Release, where its own loader looks first, compiling its sources in parallel.
 * Rejects with one line for the user.
 */
export async function buildLmdb(root) {
  const compiler = findCompiler();
  const headers = findHeaders();
  // node-lmdb is found by resolution: where this package is a dependency, npm installs node-lmdb beside it, not below
  // it.
  const home = dirname(createRequire(join(root, 'package.json')).resolve('node-lmdb/package.json'));
  const nan = dirname(createRequire(join(home, 'package.json')).resolve('nan/package.json'));
  const lmdb = join(home, 'dependencies/lmdb/libraries/liblmdb');
  const out = join(home, 'build/Release');
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const includes = [headers, nan, lmdb].flatMap((dir) => ['-I', dir]);
  const common = ['-O3', '-fPIC', '-fvisibility=hidden', '-w', '-DNDEBUG', ...includes];
  const compile = async (source, language) => {
    const object = join(out, `${basename(source)}.o`);
    await run(compiler, [...language, ...common, '-c', join(home, source), '-o', object]);
    return object;
  };
  const c = ['-x', 'c', '-pthread'];
  const cxx = ['-x', 'c++', '-std=gnu++20', '-DNODE_GYP_MODULE_NAME=node_lmdb', '-DBUILDING_NODE_EXTENSION'];
  const objects = await Promise.all([
    ...['mdb.c', 'midl.c'].map((file) => compile(`dependencies/lmdb/libraries/liblmdb/${file}`, c)),
    ...['node-lmdb', 'env', 'misc', 'txn', 'dbi', 'cursor'].map((name) => compile(`src/${name}.cpp`, cxx)),
  ]);
  const undefinedOk = process.platform === 'darwin' ? ['-undefined', 'dynamic_lookup'] : [];
  await run(compiler, ['-shared', '-pthread', ...undefinedOk, ...objects, '-o', join(out, 'node-lmdb.node')]);
  for (const object of objects) rmSync(object);
}

/** Compiles an addon of one source file to `target`, optimized as node-gyp does. Rejects with one line for the user. */
export async function compileAddon(source, target, options) {
  await run(findCompiler(), [
    '-shared',
    '-pthread',
    '-fPIC',
    '-O3',
    '-w',
    '-fno-omit-frame-pointer',
    '-DBUILDING_NODE_EXTENSION',
    ...options,
    '-I',
    findHeaders(),
    source,
    '-o',
    target,
  ]);
}

async function run(compiler, args) {
  try {
    await promisify(execFile)(compiler, args);
  } catch (error) {
    throw new Error(
      `Compiling with ${compiler} failed: ${
        String(error.stderr ?? error.message)
          .trim()
          .split('\n')[0]
      }`,
      { cause: error },
    );
  }
}

function findCompiler() {
  for (const name of [process.env.CXX, 'c++', 'g++', 'clang++']) {
    if (name && spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0) return name;
  }
  throw new Error(
    'No C++ compiler found: install one (Debian, Ubuntu: apt-get install g++; Fedora: dnf install gcc-c++) and run the command again.',
  );
}

/**
 * Node's headers beside its binary, or in the folder that npm's `nodedir` names; only headers of the same ABI are
 * accepted.
 */
function findHeaders() {
  const prefix = dirname(dirname(realpathSync(process.execPath)));
  for (const base of [prefix, process.env.npm_config_nodedir]) {
    const dir = base && join(base, 'include/node');
    if (dir && headersAbi(dir) === process.versions.modules) return dir;
  }
  throw new Error(
    `The C++ headers of Node ${process.versions.node} are not in ${join(prefix, 'include/node')}: use an official Node build, or set npm_config_nodedir to a folder that has include/node.`,
  );
}

function headersAbi(dir) {
  const file = join(dir, 'node_version.h');
  return existsSync(file) ? /^#define NODE_MODULE_VERSION (\d+)/m.exec(readFileSync(file, 'utf8'))?.[1] : undefined;
}
