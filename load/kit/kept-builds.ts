// Graphs that took a minute to build, kept in the temporary folder from one load program to the next, with the figures
// of their building. A file of another build of this code is as good: `--fresh` of load/vectors.ts builds anew. Used by
// the engines.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';

const FOLDER = `${tmpdir()}/sheaf-load-graphs`;

export interface KeptBuild {
  readonly bytes: Uint8Array;
  readonly figures: unknown;
}

/** The path that a library may write its own file to. */
export function keptPath(key: string): string {
  mkdirSync(FOLDER, { recursive: true });
  return `${FOLDER}/${key.replaceAll(/[^\w-]+/g, '_')}`;
}

export function keptBuilt(key: string): KeptBuild | undefined {
  const figures = keptFigures(key);
  return figures === undefined ? undefined : { bytes: readFileSync(keptPath(key)), figures };
}

export function keepBuilt(key: string, bytes: Uint8Array, figures: unknown): void {
  const path = keptPath(key);
  writeFileSync(`${path}.new`, bytes);
  renameSync(`${path}.new`, path);
  keepFigures(key, figures);
}

/** The figures are written last, so that a file without them is one that was cut short. */
export function keepFigures(key: string, figures: unknown): void {
  writeFileSync(`${keptPath(key)}.json`, JSON.stringify(figures));
}

export function keptFigures(key: string): unknown {
  const path = `${keptPath(key)}.json`;
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined;
}
