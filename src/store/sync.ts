// Makes names in a directory durable: a new file survives a power cut only when its directory has been synced too.
// Called where files or environments are made, on whatever thread makes them.
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs';

export function syncDirectory(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** False where one of them could not be. */
export function areSynced(paths: readonly string[]): boolean {
  try {
    for (const path of paths) syncDirectory(path);
    return true;
  } catch {
    return false;
  }
}

/**
 * Makes a directory and what `fill` puts into it, under another name until that is synced: LMDB cannot open files whose
 * first pages a power cut has torn.
 */
export function makeWhole(directory: string, fill: (path: string) => void): void {
  const making = `${directory}.making`;
  rmSync(making, { recursive: true, force: true });
  mkdirSync(making, { recursive: true });
  fill(making);
  syncDirectory(making);
  rmSync(directory, { recursive: true, force: true });
  renameSync(making, directory);
}
