// Files of the command line: finding files to ingest, validating a file to read, and writing a file atomically.
import { randomUUID } from 'node:crypto';
import { type Dirent, constants, statSync } from 'node:fs';
import { access, link, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import picomatch from 'picomatch';
import { LocalFailure, UsageError, reasonOf } from './errors.js';

export interface FoundFile {
  /** Absolute path. */
  path: string;
  /** Path relative to the deepest folder that contains all requested files, with `/`. Unique within one ingest. */
  id: string;
}

export interface LeftOut {
  id: string;
  reason: string;
}

export interface FindOptions {
  /** Selects files by their relative path. */
  accepts: (id: string) => boolean;
  /** Names of folders to skip, unless a root is such a folder itself. */
  skipFolders: ReadonlySet<string>;
}

interface Findings {
  files: FoundFile[];
  leftOut: LeftOut[];
}

/**
 * All accepted files below `roots` (files, folders or patterns), ordered by name. A link to a file counts as that file.
 * A link to a folder is skipped unless it is a root, so that loops cannot occur. Throws UsageError for a missing root.
 */
export async function findFiles(roots: readonly string[], options: FindOptions): Promise<Findings> {
  const places = await Promise.all(roots.map(openRoot));
  const finder = new Finder(
    commonFolder(places.map(({ path, isFolder }) => (isFolder ? path : dirname(path)))),
    options,
  );
  for (const { path, isFolder, fits } of places) {
    finder.fits = fits;
    if (isFolder) await finder.readFolder(path);
    else finder.take(path);
  }
  return finder.findings;
}

interface Place {
  path: string;
  isFolder: boolean;
  /** For a pattern: selects files by their absolute path. */
  fits: (path: string) => boolean;
}

async function openRoot(root: string): Promise<Place> {
  const stats = await stat(resolve(root)).catch((error: NodeJS.ErrnoException) => error);
  if (!(stats instanceof Error)) return { path: resolve(root), isFolder: stats.isDirectory(), fits: () => true };
  const pattern = splitPattern(root);
  if (pattern && (await isFolder(pattern.base))) {
    const path = resolve(pattern.base);
    return { path, isFolder: true, fits: (file) => pattern.matches(relative(path, file).split(sep).join('/')) };
  }
  throw new UsageError(`${root}: ${reasonOf(stats)}. Name a folder or a file that exists.`);
}

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );

function commonFolder(folders: readonly string[]): string {
  const [first = [], ...others] = folders.map((folder) => folder.split(sep));
  const shared = first.findIndex((name, i) => others.some((other) => other[i] !== name));
  return (shared < 0 ? first : first.slice(0, shared)).join(sep) || sep;
}

class Finder {
  readonly findings: Findings = { files: [], leftOut: [] };
  /** The filter of the root that is currently read. */
  fits: Place['fits'] = () => true;
  readonly #taken = new Set<string>();

  constructor(
    readonly base: string,
    readonly options: FindOptions,
  ) {}

  async readFolder(path: string): Promise<void> {
    const entries = await readdir(path, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => error);
    if (entries instanceof Error) return this.#leaveOut(path, reasonOf(entries));
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1)))
      await this.#readEntry(join(path, entry.name), entry);
  }

  take(path: string): void {
    const id = this.#idOf(path);
    if (this.#taken.has(id) || !this.fits(path) || !this.options.accepts(id)) return;
    this.#taken.add(id);
    this.findings.files.push({ path, id });
  }

  async #readEntry(path: string, entry: Dirent): Promise<void> {
    if (this.options.skipFolders.has(entry.name) && !entry.isFile()) this.#leaveOut(path, 'folder left out');
    else if (entry.isDirectory()) await this.readFolder(path);
    else if (entry.isSymbolicLink()) await this.#readLink(path);
    else if (entry.isFile()) this.take(path);
    else this.#leaveOut(path, 'not a regular file');
  }

  async #readLink(path: string): Promise<void> {
    const target = await stat(path).catch((error: NodeJS.ErrnoException) => error);
    if (target instanceof Error) this.#leaveOut(path, `link to nowhere (${reasonOf(target)})`);
    else if (target.isDirectory()) this.#leaveOut(path, 'link to a folder');
    else if (target.isFile()) this.take(path);
    else this.#leaveOut(path, 'not a regular file');
  }

  #leaveOut(path: string, reason: string): void {
    this.findings.leftOut.push({ id: this.#idOf(path), reason });
  }

  #idOf(path: string): string {
    return relative(this.base, path).split(sep).join('/');
  }
}

/**
 * Validates a file that a command is to read, before anything is sent, and resolves to its size in bytes. Throws
 * UsageError if it does not exist, is not a file or is not readable; `remedy` says what to name instead.
 */
export async function readableFile(path: string, remedy: string): Promise<number> {
  const stats = await stat(path).catch((error: NodeJS.ErrnoException) => error);
  if (!(stats instanceof Error) && !stats.isFile()) throw new UsageError(`${path} is not a file. ${remedy}`);
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

/** Errors caused by the given path. All other errors are failures of the machine. */
const MISNAMED: ReadonlySet<string | undefined> = new Set([
  'ENOENT',
  'ENOTDIR',
  'EISDIR',
  'ENAMETOOLONG',
  'ELOOP',
  'EINVAL',
]);

/**
 * Writes a file that appears under its name only when it is complete. `write` creates it at the given path, which is
 * unique, and should open it with flag `wx`. An existing file is kept unless `replace` is set, even one that is created
 * meanwhile. Throws UsageError, LocalFailure, or what `write` throws other than file system errors.
 */
export async function writeAtomically<T>(
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

/**
 * Links the draft to its name, which unlike a rename never replaces a file. On file systems without links it renames,
 * so there a concurrent writer may be overwritten.
 */
async function linked(draft: string, file: string): Promise<void> {
  const failure = await link(draft, file).catch((error: NodeJS.ErrnoException) => error);
  if (failure === undefined) return rm(draft);
  if (failure.code === 'EEXIST') {
    await rm(draft, { force: true });
    throw new UsageError(`${file} has been created meanwhile: name another file, or use --force.`);
  }
  await rename(draft, file);
}

/** Never replaces anything but a regular file, such as a device. */
function checkPlace(file: string, replace: boolean): void {
  const there = statSync(file, { throwIfNoEntry: false });
  if (there && !there.isFile())
    throw new UsageError(
      `${file} cannot be written: it is ${there.isDirectory() ? 'a folder' : 'not a regular file'}.`,
    );
  if (there && !replace) throw new UsageError(`${file} already exists: name another file, or use --force.`);
}

/**
 * A test for relative paths (with `/`). A pattern without `/` is matched against the file name only, as in .gitignore;
 * hidden files are not special. Throws UsageError for an unbalanced bracket.
 */
export function compileGlob(pattern: string): (path: string) => boolean {
  try {
    const matches = picomatch(pattern, { basename: !pattern.includes('/'), dot: true, strictBrackets: true });
    return (path) => matches(path);
  } catch {
    throw new UsageError(`The pattern "${pattern}" has an unbalanced bracket.`);
  }
}

/**
 * Splits a pattern such as `docs/**\/*.md` into the folder before it and a test for paths below that folder. Undefined
 * if the text is not a pattern.
 */
function splitPattern(text: string): { base: string; matches: (path: string) => boolean } | undefined {
  const { base, glob, isGlob } = picomatch.scan(text);
  if (!isGlob) return undefined;
  const matches = picomatch(glob, { dot: true });
  return { base: base || '.', matches: (path) => matches(path) };
}
