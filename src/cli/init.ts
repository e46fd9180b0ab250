// `sheaf init`: a configuration file to start from, read back before it takes its place.
import { writeFile } from 'node:fs/promises';
import { configExample, readConfig } from '../config/load.js';
import { ConfigError } from '../config/kinds.js';
import { UsageError } from './errors.js';
import { line, type Output } from './output.js';
import { writeAtomically } from './files.js';

export interface InitOptions {
  /** `key=value`. */
  settings: readonly string[];
  replace: boolean;
}

/** Throws UsageError for settings that do not go, and what writeAtomically throws. */
export async function init(
  file: string,
  { settings, replace }: InitOptions,
  { stdout, stderr }: Output,
): Promise<void> {
  await writeAtomically(file, replace, async (draft) => {
    await writeFile(draft, configExample(settings), { mode: 0o600, flag: 'wx', flush: true });
    readConfig({ SHEAF_CONFIG: draft }, (warning) => line(stderr, `sheaf: ${warning}`));
  }).catch((error: unknown) => {
    throw error instanceof ConfigError ? new UsageError(`${error.message}.`) : error;
  });
  line(
    stdout,
    `${file} is written: every key with its default and what it means. Next: sheaf serve${file === 'sheaf.yaml' ? '' : ` --config ${file}`}`,
  );
}
