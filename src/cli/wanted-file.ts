// A file that a command is to read, looked at before anything is sent: what is wrong with it is told in a line.
// Called by the commands that take archives and NDJSON.
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { UsageError } from './explain-error.js';
import { reasonOf } from './find-files.js';

/**
 * Its size in bytes. Throws UsageError for what is not there, is no file or may not be read; `remedy` says what to name
 * instead.
 */
export async function wantedFile(path: string, remedy: string): Promise<number> {
  const stats = await stat(path).catch((error: NodeJS.ErrnoException) => error);
  if (!(stats instanceof Error) && !stats.isFile()) throw new UsageError(`${path} is no file. ${remedy}`);
  const failure =
    stats instanceof Error
      ? stats
      : await access(path, constants.R_OK).then(
          () => undefined,
          (error: NodeJS.ErrnoException) => error,
        );
  if (failure) throw new UsageError(`${path} cannot be read: ${reasonOf(failure)}. ${remedy}`);
  return (stats as { size: number }).size;
}
