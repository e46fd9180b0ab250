// Compiles hnswlib-node, which the benchmarks compare with, as its binding.gyp would, but without node-gyp, which needs
// Python. Nothing that is shipped needs it. Exits 1 with one line where it fails.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { mkdirSync } from 'node:fs';
import { compileAddon } from './native.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const home = join(root, 'node_modules/hnswlib-node');
const loads = () =>
  spawnSync(process.execPath, ['-e', "require('hnswlib-node')"], { cwd: root, stdio: 'ignore' }).status === 0;

try {
  if (!loads()) {
    console.log(`compiling hnswlib-node for Node ${process.versions.node}`);
    const api = dirname(createRequire(join(home, 'package.json')).resolve('node-addon-api/package.json'));
    mkdirSync(join(home, 'build/Release'), { recursive: true });
    await compileAddon(join(home, 'src/addon.cc'), join(home, 'build/Release/addon.node'), [
      '-std=gnu++17',
      '-DNODE_GYP_MODULE_NAME=addon',
      '-DNAPI_DISABLE_CPP_EXCEPTIONS',
      '-I',
      api,
    ]);
  }
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
