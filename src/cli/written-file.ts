// A file that a command writes: it appears under its name only when it is whole, and what keeps it from being written
// is told in a line, with the exit code of whose fault it is. Used by init and archive.
import { randomUUID } from 'node:crypto';
import { rename, rm } from 'node:fs/promises';
import { LocalFailure, UsageError } from './explain-error.js';
import { reasonOf } from './find-files.js';

/** Where the place that was named is none; for all else the command line is right, and the machine did not do it. */
const MISNAMED: ReadonlySet<string | undefined> = new Set([
  'ENOENT',
  'ENOTDIR',
  'EISDIR',
  'ENAMETOOLONG',
  'ELOOP',
  'EINVAL',
]);

/**
 * `write` makes a file at the path that it is given, which nobody else has: it is asked to open it with flag `wx`.
 * Throws UsageError, LocalFailure, or what `write` throws that is no failure of the file system.
 */
export async function writtenWhole<T>(file: string, write: (draft: string) => Promise<T>): Promise<T> {
  const draft = `${file}.${randomUUID().slice(0, 8)}.part`;
  try {
    const result = await write(draft);
    await rename(draft, file);
    return result;
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (code !== 'EEXIST') await rm(draft, { force: true }).catch(() => undefined);
    if (syscall === undefined || code === undefined) throw error;
    const Reason = MISNAMED.has(code) ? UsageError : LocalFailure;
    throw new Reason(`${file} cannot be written: ${reasonOf(error as NodeJS.ErrnoException)}.`);
  }
}
