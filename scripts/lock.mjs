// A lock between processes, so that only one setup runs in a checkout and only one download into a model folder. The
// lock is a symbolic link whose target is the owner's process id: it is created together with its content in one atomic
// step, and is still readable when the owner has died.
import { readlinkSync, renameSync, symlinkSync, unlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 100;

/** Runs `work` while holding the lock at `path`. Waits for another live owner, and takes over from a dead one. */
export async function withLock(path, say, work) {
  for (let waits = 0; !tryLock(path); waits++) {
    const owner = ownerOf(path);
    if (owner !== undefined && !isAlive(owner)) evict(path, owner);
    else if (waits === 0)
      say(`waiting for process ${owner ?? 'unknown'}, which does the same (if there is none, delete ${path})`);
    await sleep(POLL_MS);
  }
  try {
    return await work();
  } finally {
    unlinkSync(path);
  }
}

function tryLock(path) {
  try {
    symlinkSync(String(process.pid), path);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

function ownerOf(path) {
  try {
    return Number(readlinkSync(path));
  } catch {
    return undefined; // The owner has just released the lock.
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return pid !== process.pid;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/**
 * Removes the lock of a dead owner. Another process may have removed it and locked meanwhile; then its lock is put
 * back.
 */
function evict(path, dead) {
  const aside = `${path}.${process.pid}`;
  try {
    renameSync(path, aside);
  } catch {
    return; // Another process was faster.
  }
  if (ownerOf(aside) === dead) unlinkSync(aside);
  else renameSync(aside, path);
}
