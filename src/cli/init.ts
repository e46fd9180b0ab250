// `sheaf init`: writes an example configuration, validated before the file appears.
import { writeFile } from 'node:fs/promises';
import { configExample, readConfig } from '../config/load.js';
import { ConfigError } from '../config/kinds.js';
import { UsageError } from './errors.js';
import { line, type Output } from './output.js';
import { writeAtomically } from './files.js';

export interface InitOptions {
  /** Entries `key=value`. */
  settings: readonly string[];
  replace: boolean;
}

/** Throws UsageError for invalid settings, and what writeAtomically throws. */
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
    `${file} is written, with the default and meaning of every key. Next: sheaf serve${file === 'sheaf.yaml' ? '' : ` --config ${file}`}`,
  );
}
