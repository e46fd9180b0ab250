// Reads the configuration: sheaf.yaml, then SHEAF_ environment variables over it. Every key is checked; a wrong one
// ends the start with a line that names it. Called by main once.
import { existsSync, readFileSync } from 'node:fs';
import { parse as parseYaml } from 'yaml';
import { isSlug } from '../api/ids.js';
import { ConfigError, checkJwt, checkedKeys } from './auth.js';
import { type Config, assemble } from './config.js';
import { checkDefault, readEmbedders, readRerankers } from './embedders.js';
import { CONFIG_KEYS, type ConfigKey, type KeyType, envNameOf } from './keys.js';
import { checkTlsFiles } from './tls.js';

/** Variables with the prefix that are no configuration key: for the command line. */
const OTHER_VARIABLES: ReadonlySet<string> = new Set(['SHEAF_CONFIG', 'SHEAF_API_KEY', 'SHEAF_URL']);

/** Reads `SHEAF_CONFIG`, else ./sheaf.yaml where it exists, and the environment. Throws ConfigError and TlsError. */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const file = env.SHEAF_CONFIG ?? 'sheaf.yaml';
  if (env.SHEAF_CONFIG !== undefined && !existsSync(file))
    throw new ConfigError(`SHEAF_CONFIG: there is no file ${file}`);
  const given = existsSync(file) ? readFile(file) : new Map<string, unknown>();
  for (const [path, value] of readEnv(env)) given.set(path, value);
  const value = (path: string): unknown => given.get(path) ?? keyOf(path).fallback;
  for (const [path, raw] of given) given.set(path, checked(keyOf(path), raw));
  given.set(
    'embedder.instances',
    readEmbedders(value('embedder.model') as string, value('embedder.instances') as Record<string, unknown>[], env),
  );
  given.set(
    'rerank.instances',
    readRerankers('rerank.instances', value('rerank.instances') as Record<string, unknown>[], env),
  );
  return checkedTogether(assemble(value, (path) => given.has(path)));
}

function keyOf(path: string): ConfigKey {
  const key = CONFIG_KEYS.find((candidate) => candidate.path === path);
  if (!key) throw new ConfigError(`there is no configuration key ${path}; README.md lists them`);
  return key;
}

function readFile(file: string): Map<string, unknown> {
  let tree: unknown;
  try {
    tree = parseYaml(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new ConfigError(`${file} is not YAML: ${(error as Error).message.split('\n')[0]}`);
  }
  if (tree === null || tree === undefined) return new Map();
  if (typeof tree !== 'object' || Array.isArray(tree)) throw new ConfigError(`${file} should be a mapping of keys`);
  return new Map(flatten(tree as Record<string, unknown>, ''));
}

function* flatten(tree: Record<string, unknown>, prefix: string): Generator<[string, unknown]> {
  for (const [name, value] of Object.entries(tree)) {
    const isBranch = typeof value === 'object' && value !== null && !Array.isArray(value);
    if (isBranch) yield* flatten(value as Record<string, unknown>, `${prefix}${name}.`);
    else yield [`${prefix}${name}`, value];
  }
}

function* readEnv(env: NodeJS.ProcessEnv): Generator<[string, unknown]> {
  for (const [name, text] of Object.entries(env)) {
    if (!name.startsWith('SHEAF_') || OTHER_VARIABLES.has(name) || text === undefined) continue;
    const key = CONFIG_KEYS.find(({ path }) => envNameOf(path) === name);
    if (!key) throw new ConfigError(`${name} names no configuration key; README.md lists them`);
    yield [key.path, fromText(key, text)];
  }
}

/** Strings stay as they are, secrets that look like numbers too. */
function fromText(key: ConfigKey, text: string): unknown {
  if (key.type.kind === 'string' || key.type.kind === 'choice') return text;
  try {
    return parseYaml(text);
  } catch {
    throw new ConfigError(`${envNameOf(key.path)} is neither a number nor YAML: ${text}`);
  }
}

function checked({ path, type }: ConfigKey, value: unknown): unknown {
  const wrong = (wanted: string): ConfigError =>
    new ConfigError(`${path} (${envNameOf(path)}) should be ${wanted}, not ${JSON.stringify(value)}`);
  if (type.kind === 'string' && typeof value !== 'string') throw wrong('text (in YAML: in quotes)');
  if (type.kind === 'choice' && !type.of.includes(value as string)) throw wrong(`one of ${type.of.join(', ')}`);
  if (type.kind === 'boolean' && typeof value !== 'boolean') throw wrong('true or false');
  if (type.kind === 'choices' && !isListOf(value, type.of)) throw wrong(`a list out of ${type.of.join(', ')}`);
  if (type.kind === 'number' && !(typeof value === 'number' && value >= type.min && value <= type.max))
    throw wrong(`a number from ${type.min} to ${type.max}`);
  if (type.kind === 'integer' && !inRange(value, type)) throw wrong(`a whole number from ${type.min} to ${type.max}`);
  if (type.kind === 'texts') return checkedTexts(type, value, wrong);
  if (type.kind === 'mappings' && !isMappings(value)) throw wrong('a list of mappings');
  if (type.kind === 'keys') return checkedKeys(path, value);
  return value;
}

/** Text is a list with commas between. */
function checkedTexts(
  { form, wanted }: Extract<KeyType, { kind: 'texts' }>,
  value: unknown,
  wrong: (wanted: string) => ConfigError,
): string[] {
  const texts: unknown = typeof value === 'string' ? value.split(/[\s,]+/).filter((text) => text !== '') : value;
  if (
    !Array.isArray(texts) ||
    !texts.every(
      (text) =>
        typeof text === 'string' && form.test(text) && URL.canParse(text.includes('://') ? text : `http://${text}`),
    )
  )
    throw wrong(wanted);
  return texts as string[];
}

const inRange = (value: unknown, { min, max }: Extract<KeyType, { min: number }>): boolean =>
  Number.isInteger(value) && (value as number) >= min && (value as number) <= max;

const isListOf = (value: unknown, of: readonly string[]): boolean =>
  Array.isArray(value) && value.length > 0 && value.every((item) => of.includes(item as string));

const isMappings = (value: unknown): boolean =>
  Array.isArray(value) && value.every((item) => typeof item === 'object' && item !== null && !Array.isArray(item));

const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost']);

function checkedTogether(config: Config): Config {
  const { chunking, auth, host, common, tls, embedder, search, tracing } = config;
  if (tls !== undefined) checkTlsFiles(tls);
  if (chunking.overlap > chunking.size / 4)
    throw new ConfigError(`chunking.overlap should be at most a quarter of chunking.size (${chunking.size})`);
  if (auth.mode === 'none' && !LOOPBACK.has(host)) {
    throw new ConfigError(
      `server.host is ${host}, but auth.mode is none: without keys only loopback is served; set auth.mode to static`,
    );
  }
  if (search.fusion.weights.vector + search.fusion.weights.lexical === 0)
    throw new ConfigError('search.fusion.vector_weight and lexical_weight are both 0: one half has to be searched');
  checkDefault(embedder.default, embedder.instances);
  checkJwt(auth);
  if (tracing.enabled && !URL.canParse(tracing.endpoint))
    throw new ConfigError(
      `tracing.endpoint should be a URL, such as http://127.0.0.1:4318/v1/traces, not ${tracing.endpoint}`,
    );
  if (auth.mode === 'none' && auth.keys.length > 0)
    throw new ConfigError('auth.keys are given, but auth.mode is none: set auth.mode to static');
  if (!isSlug(common.tenant) || !isSlug(common.collection))
    throw new ConfigError('common.tenant and common.collection should be slugs: up to 128 of A-Z a-z 0-9 . _ -');
  return config;
}

// The configuration file that `sheaf init` writes: every key with its default, commented out, below what it means. Made
// from the one list of keys, as the checks and the README's table are. Called by src/cli/init.ts. Pure.

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
