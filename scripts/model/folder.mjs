// A model folder on disk and its description: SOURCE.json names the repository, the commit and every file with its
// digest. While the folder is being filled the description is SOURCE.json.part, so that a folder with SOURCE.json is
// complete.
import { createHash } from 'node:crypto';
import {
  createReadStream,
  existsSync,
  openSync,
  closeSync,
  fsyncSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { Refusal } from './faults.mjs';

const SOURCE = 'SOURCE.json';
const PART = '.part';

export const segmentOf = (path) => `${path}${PART}`;

/**
 * The description of a folder, complete or begun: `{ repo, commit, files }`, without files for an empty folder. Throws
 * where the folder holds something else.
 */
export function readSource(folder, repo) {
  const names = [SOURCE, segmentOf(SOURCE)].filter((name) => existsSync(join(folder, name)));
  const others = readdirSync(folder).filter((name) => name !== '.lock');
  if (names.length === 0 && others.length > 0)
    throw new Refusal(`${folder} has files that are not from here: choose another folder with --to`);
  const isWhole = names[0] === SOURCE;
  const source = names.length === 0 ? { repo, files: [] } : parse(join(folder, names[0]));
  if (source.repo !== repo)
    throw new Refusal(`${folder} holds ${source.repo}: remove it, or choose another folder with --to`);
  return { ...source, isWhole };
}

function parse(path) {
  try {
    const source = JSON.parse(readFileSync(path, 'utf8'));
    if (Array.isArray(source.files)) return source;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new Refusal(`${path} is damaged: remove the folder`);
}

/**
 * Writes the description of a folder that is being filled. Removes files and partial files of an earlier source that
 * the new one cannot use.
 */
export function beginSource(folder, source, before) {
  for (const { path, digest } of before.files) {
    const kept = source.files.find((file) => file.path === path);
    if (kept?.digest !== digest) rmSync(join(folder, segmentOf(path)), { force: true });
    if (kept === undefined) rmSync(join(folder, path), { force: true });
  }
  writeFileSync(join(folder, segmentOf(SOURCE)), `${JSON.stringify(source, undefined, 2)}\n`, { flush: true });
  rmSync(join(folder, SOURCE), { force: true });
}

/** Marks the folder as complete. */
export const finishSource = (folder) => renameSynced(join(folder, SOURCE));

/** Renames a partial file, whose bytes are on the disk, to its final name. */
export function renameSynced(path) {
  renameSync(segmentOf(path), path);
  const directory = openSync(dirname(path), 'r');
  fsyncSync(directory);
  closeSync(directory);
}

export const sizeOf = (path) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** Whether the file at `path` has the size and digest of the listing. */
export async function isIntact(path, { size, digest }) {
  if (!existsSync(path) || sizeOf(path) !== size) return false;
  const [kind, hex] = digest.split(':');
  const hash = createHash(kind === 'sha256' ? 'sha256' : 'sha1');
  if (kind === 'git-sha1') hash.update(`blob ${size}\0`);
  for await (const bytes of createReadStream(path)) hash.update(bytes);
  return hash.digest('hex') === hex;
}
