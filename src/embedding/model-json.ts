// The JSON files of a model folder, of which any may be absent. Errors are worded for the operator.
// Used by model-folder.ts at start; front thread.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The configured model folder cannot be served. The message names the place in the configuration and what is wrong. */
export class ModelFolderError extends Error {
  override readonly name = 'ModelFolderError';
}

export type JsonObject = Readonly<Record<string, unknown>>;

/** Where in the configuration the folder is named, for messages, and where it lies. */
export interface Folder {
  at: string;
  directory: string;
}

/** A whole file; undefined where it is absent. Throws ModelFolderError where it is no JSON. */
export function readJson({ at, directory }: Folder, file: string): unknown {
  const path = join(directory, file);
  if (!existsSync(path)) return undefined;
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as unknown;
  } catch (error) {
    const reason =
      error instanceof SyntaxError ? 'is no JSON' : `cannot be read (${(error as NodeJS.ErrnoException).code})`;
    throw new ModelFolderError(`${at}: ${path} ${reason}`);
  }
}

/** A file that is an object; {} where it is absent. */
export function readObject(folder: Folder, file: string): JsonObject {
  const value = readJson(folder, file) ?? {};
  if (isObject(value)) return value;
  throw new ModelFolderError(`${folder.at}: ${join(folder.directory, file)} should be a JSON object`);
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The first of the named values that is a whole number above 0. */
export function countOf(object: JsonObject, ...names: string[]): number | undefined {
  return names
    .map((name) => object[name])
    .find((value): value is number => Number.isInteger(value) && (value as number) > 0);
}

export const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
