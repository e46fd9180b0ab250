// Files of the command line: those that an ingest is to send, one that a command is to read, and one that it writes.
import { randomUUID } from 'node:crypto';
import { type Dirent, constants, statSync } from 'node:fs';
import { access, link, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import picomatch from 'picomatch';
import { LocalFailure, UsageError, reasonOf } from './errors.js';

export interface FoundFile {
  /** Absolute. */
  path: string;
  /** Path relative to the deepest folder that holds everything asked for, with `/`: unique in one ingest. */
  id: string;
}

export interface LeftOut {
  id: string;
  reason: string;
}

export interface FindOptions {
  /** Which files to take, by relative path. */
  accepts: (id: string) => boolean;
  /** Names of folders not to enter, unless one of the roots is such a folder itself. */
  skipFolders: ReadonlySet<string>;
}

interface Findings {
  files: FoundFile[];
  leftOut: LeftOut[];
}

/**
 * All accepted files below `roots` (files, folders or patterns), in the order of their names. A link to a file is that
 * file; a link to a folder is left out unless it is a root, so that no loop can arise. Throws UsageError for a root
 * that is not there.
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
  /** Of a pattern: which files below the folder are meant, by their path below it. */
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
  /** What the root that is read now takes. */
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
 * The size in bytes of a file that a command is to read, looked at before anything is sent. Throws UsageError for what is not there, is no file or may not be read; `remedy` says what to name
 * instead.
 */
export async function readableFile(path: string, remedy: string): Promise<number> {
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
 * Writes a file that appears under its name only when it is whole. `write` makes it at the path that it is given, which nobody else has: it is asked to open it with flag `wx`. A
 * file that is there stays there unless `replace` is said, also one that comes meanwhile. Throws UsageError,
 * LocalFailure, or what `write` throws that is no failure of the file system.
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

/**
 * A test for relative paths (with `/`). A pattern without `/` is held against the file name alone, as in .gitignore;
 * hidden files count like others. Throws UsageError for a bracket without its partner.
 */
export function compileGlob(pattern: string): (path: string) => boolean {
  try {
    const matches = picomatch(pattern, { basename: !pattern.includes('/'), dot: true, strictBrackets: true });
    return (path) => matches(path);
  } catch {
    throw new UsageError(`The pattern "${pattern}" has a bracket without its partner.`);
  }
}

/**
 * A pattern such as `docs/**\/*.md` as the folder before it and a test for paths below that; undefined for what is
 * none.
 */
function splitPattern(text: string): { base: string; matches: (path: string) => boolean } | undefined {
  const { base, glob, isGlob } = picomatch.scan(text);
  if (!isGlob) return undefined;
  const matches = picomatch(glob, { dot: true });
  return { base: base || '.', matches: (path) => matches(path) };
}
