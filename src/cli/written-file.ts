// A file that a command writes: it appears under its name only when it is whole, and what keeps it from being written
// is told in a line, with the exit code of whose fault it is. Used by init and archive.
import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { link, rename, rm } from 'node:fs/promises';
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
 * `write` makes a file at the path that it is given, which nobody else has: it is asked to open it with flag `wx`. A
 * file that is there stays there unless `replace` is said, also one that comes meanwhile. Throws UsageError,
 * LocalFailure, or what `write` throws that is no failure of the file system.
 */
export async function writtenWhole<T>(
  file: string,
  replace: boolean,
  write: (draft: string) => Promise<T>,
): Promise<T> {
  const draft = `${file}.${randomUUID().slice(0, 8)}.part`;
  try {
    checkPlace(file, replace);
    const result = await write(draft);
    if (replace) await rename(draft, file);
    else await linked(draft, file);
    return result;
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (code !== 'EEXIST') await rm(draft, { force: true }).catch(() => undefined);
    if (syscall === undefined || code === undefined) throw error;
    const Reason = MISNAMED.has(code) ? UsageError : LocalFailure;
    throw new Reason(`${file} cannot be written: ${reasonOf(error as NodeJS.ErrnoException)}.`);
  }
}

/** Unlike a rename it takes nothing's place. Not every file system has links: there only a race is lost. */
async function linked(draft: string, file: string): Promise<void> {
  const failure = await link(draft, file).catch((error: NodeJS.ErrnoException) => error);
  if (failure === undefined) return rm(draft);
  if (failure.code === 'EEXIST') {
    await rm(draft, { force: true });
    throw new UsageError(`${file} has come meanwhile: name another file, or say --force.`);
  }
  await rename(draft, file);
}

/** A device, say, is not to be replaced by a file whatever is said. */
function checkPlace(file: string, replace: boolean): void {
  const there = statSync(file, { throwIfNoEntry: false });
  if (there && !there.isFile())
    throw new UsageError(`${file} cannot be written: it is ${there.isDirectory() ? 'a folder' : 'no file'}.`);
  if (there && !replace) throw new UsageError(`${file} is there already: name another file, or say --force.`);
}
