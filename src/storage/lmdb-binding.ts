// Compiles LMDB's binding where it does not load: npm was told to run no scripts, or Node has been replaced. The script
// that does it is the package's own, and tells what is missing. Before anything else of the store is loaded.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const SCRIPT = fileURLToPath(new URL('../../../scripts/postinstall.mjs', import.meta.url));

/** True where the store can be loaded now. */
export function compileMissingStore(): boolean {
  if (loads()) return true;
  if (existsSync(SCRIPT)) spawnSync(process.execPath, [SCRIPT], { stdio: 'inherit' });
  return loads();
}

function loads(): boolean {
  try {
    createRequire(import.meta.url)('node-lmdb');
    return true;
  } catch {
    return false;
  }
}
