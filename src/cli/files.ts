// Finds the files an ingest is to send: walks folders, names what it leaves out. Called by the ingest and
// demo commands.
import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { UsageError } from './explain-error.js';
import { splitPattern } from './glob.js';

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

export interface Findings {
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

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or folder',
  ENOTDIR: 'no such file or folder',
  EISDIR: 'it is a folder',
  EACCES: 'no permission',
  EPERM: 'no permission',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota of the disk is used up',
  EMFILE: 'too many files are open',
};

/** What a failed file system call means, in words where it is a usual one. */
export function reasonOf(error: NodeJS.ErrnoException): string {
  return REASONS[error.code ?? ''] ?? error.code ?? error.message;
}
