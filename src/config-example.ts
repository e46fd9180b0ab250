// The configuration file that `sheaf init` writes: every key with its default, commented out, below what it means. Made
// from the one list of keys, as the checks and the README's table are. Called by src/cli/init.ts. Pure.
import { parse as parseYaml } from 'yaml';
import { CONFIG_KEYS, envNameOf, type ConfigKey } from './config-keys.js';
import { ConfigError } from './config-tenant-keys.js';

const COLUMNS = 110;
const HEAD = `# The configuration of Sheaf. Each key stands here with its default: take the # away to change it. A variable of the
# environment comes before the file: SHEAF_ and the key in capitals, with __ for each dot, such as SHEAF_SERVER__PORT.
`;

/**
 * `settings`: `key=value`, with the value as YAML; those keys are not commented out. Throws ConfigError for a key that
 * is none.
 */
export function configExample(settings: readonly string[]): string {
  const given = new Map(settings.map(settingOf));
  return `${HEAD}${CONFIG_KEYS.map((key) => entryOf(key, given)).join('')}`;
}

function settingOf(setting: string): [string, unknown] {
  const at = setting.indexOf('=');
  const path = setting.slice(0, Math.max(0, at)).trim();
  const key = CONFIG_KEYS.find((candidate) => candidate.path === path);
  if (!key)
    throw new ConfigError(
      `--set ${setting} names no configuration key: give it as KEY=VALUE, such as server.port=9000`,
    );
  const text = setting.slice(at + 1);
  return [path, key.type.kind === 'string' || key.type.kind === 'choice' ? text : parseYaml(text)];
}

function entryOf({ path, fallback, fallbackText, meaning }: ConfigKey, given: ReadonlyMap<string, unknown>): string {
  const told = fallbackText === undefined ? meaning : `${meaning} Default: ${fallbackText}.`;
  const line = `${path}: ${JSON.stringify(given.has(path) ? given.get(path) : fallback)}`;
  return `\n${wrapped(`${told.replace(/\[([^\]]+)\]\(#[^)]*\)/g, '"$1" in the README')} (${envNameOf(path)})`)}${given.has(path) ? '' : '# '}${line}\n`;
}

function wrapped(text: string): string {
  let lines = '';
  let current = '#';
  for (const word of text.split(' ')) {
    if (current.length + word.length >= COLUMNS) {
      lines += `${current}\n`;
      current = '#';
    }
    current += ` ${word}`;
  }
  return `${lines}${current}\n`;
}
