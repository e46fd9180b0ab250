// Compiles LMDB's native binding if it does not load, because npm ran no install scripts or Node was replaced. The
// package's own script compiles it and reports what is missing. This must run before any other module of the store is
// loaded.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const SCRIPT = fileURLToPath(new URL('../../../scripts/postinstall.mjs', import.meta.url));

/** Returns whether the binding can be loaded now. */
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
