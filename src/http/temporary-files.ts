// The temporary files of a server: a folder that is emptied when the server starts, for whatever a crash left behind,
// and the files of one request, removed when it is over. Used by server.ts and body.ts, on the front thread.
import { mkdirSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';

/** Makes the folder, empty and for this user alone. */
export function emptyTemporaryDirectory(path: string): void {
  rmSync(path, { recursive: true, force: true });
  mkdirSync(path, { recursive: true, mode: 0o700 });
}

export class TemporaryFiles {
  private readonly paths: string[] = [];

  constructor(private readonly directory: string) {}

  newPath(): string {
    const path = join(this.directory, uuidv7());
    this.paths.push(path);
    return path;
  }

  /** Never rejects: what cannot be removed now is when the server starts again. */
  async remove(): Promise<void> {
    await Promise.all(this.paths.splice(0).map((path) => rm(path, { force: true }).catch(() => undefined)));
  }
}
