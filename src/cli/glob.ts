// File patterns of the command line: `--glob`, compiled once and held against each path that find-files.ts meets, and
// patterns in place of paths. Pure; the only file that knows picomatch.
import picomatch from 'picomatch';
import { UsageError } from './explain-error.js';

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
export function splitPattern(text: string): { base: string; matches: (path: string) => boolean } | undefined {
  const { base, glob, isGlob } = picomatch.scan(text);
  if (!isGlob) return undefined;
  const matches = picomatch(glob, { dot: true });
  return { base: base || '.', matches: (path) => matches(path) };
}
