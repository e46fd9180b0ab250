// Makes names in a directory durable: a new file survives a power cut only when its directory has been synced too.
// Called where files or environments are made, on whatever thread makes them.
import { closeSync, fsyncSync, openSync } from 'node:fs';

export function syncDirectory(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
