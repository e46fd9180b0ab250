// Makes the native part of the store load after the package has been installed: compiles it where none of its prebuilt
// binaries fits, and downloads nothing. Removes binaries of other platforms, unless this is a checkout. It runs as npm's postinstall script; where npm was told to run no scripts,
// `sheaf serve` does the same. A failure does not stop the installation: the package's client does not need the store,
// and `sheaf serve` says what is missing.
import { basename, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { removeForeignBinaries } from './foreign-binaries.mjs';
import { buildLmdb, lmdbLoads } from './native.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

try {
  if (basename(dirname(root)) === 'node_modules') removeForeignBinaries(root);
  if (!lmdbLoads(root)) {
    console.error(`sheaf: compiling node-lmdb for Node ${process.versions.node}, this once`);
    await buildLmdb(root);
  }
} catch (error) {
  console.error(`sheaf: ${error.message}`);
}
