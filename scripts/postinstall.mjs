// Makes the store's native part load where the package has been installed: compiled here where none of its prebuilt
// binaries fits. Run by npm after an install, and by `sheaf serve` where npm was told to run no scripts. Nothing is
// downloaded. Where it cannot be done the install goes on: the client of the package needs none of it, and `sheaf
// serve` says what is missing.
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildLmdb, lmdbLoads } from './native.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

try {
  if (!lmdbLoads(root)) {
    console.error(`sheaf: compiling node-lmdb for Node ${process.versions.node}, this once`);
    await buildLmdb(root);
  }
} catch (error) {
  console.error(`sheaf: ${error.message}`);
}
