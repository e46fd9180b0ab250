// Loads the configuration from sheaf.yaml and, with precedence, SHEAF_ environment variables. All keys are validated;
// an error ends the start with a line that names the key. Also generates the file of `sheaf init`.
import { existsSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { parse as parseYaml } from 'yaml';
import { isSlug } from '../api/ids.js';
import { checkJwt } from './auth.js';
import { type Config, deriveConfig } from './config.js';
import { checkDefault } from './embedders.js';
import {
  CONFIG_KEYS,
  type ConfigKey,
  RENAMED_KEYS,
  RETIRED_KEYS,
  type RetiredKey,
  envNameOf,
  renamingOf,
  retirementOf,
  settingsOf,
} from './keys.js';
import { ConfigError, checkedValue } from './kinds.js';
import { checkTlsFiles } from './tls.js';

/** Variables with the prefix that are not configuration keys but belong to the command line. */
const OTHER_VARIABLES: ReadonlySet<string> = new Set(['SHEAF_CONFIG', 'SHEAF_API_KEY', 'SHEAF_URL']);

type AnyKey = ConfigKey | RetiredKey;
const KEYS: ReadonlyMap<string, AnyKey> = new Map([...CONFIG_KEYS, ...RETIRED_KEYS].map((key) => [key.path, key]));
const PATHS_BY_VARIABLE: ReadonlyMap<string, string> = new Map(
  [...KEYS.keys(), ...RENAMED_KEYS.keys()].map((path) => [envNameOf(path), path]),
);
/** The key that `path` names, by its name of now or an earlier one. */
const keyOf = (path: string): AnyKey | undefined => KEYS.get(RENAMED_KEYS.get(path) ?? path);
const isRetired = (key: AnyKey): key is RetiredKey => 'instead' in key;

/**
 * Reads the file `SHEAF_CONFIG`, or ./sheaf.yaml if it exists, and the environment. `warn` is called with a line for
 * each retired or renamed key that is set. Throws ConfigError.
 */
export function readConfig(env: NodeJS.ProcessEnv, warn: (message: string) => void = () => undefined): Config {
  const file = env.SHEAF_CONFIG ?? 'sheaf.yaml';
  if (env.SHEAF_CONFIG !== undefined && !existsSync(file))
    throw new ConfigError(`SHEAF_CONFIG: there is no file ${file}`);
  const sources = [existsSync(file) ? readFile(file) : [], [...readEnv(env)]];
  const given = new Map<string, unknown>(sources.flatMap(currentNames));
  for (const [path, now] of RENAMED_KEYS)
    if (sources.flat().some(([name]) => name === path)) warn(renamingOf(path, now));
  const retired = new Map<string, number>();
  for (const key of RETIRED_KEYS) {
    if (!given.has(key.path)) continue;
    warn(retirementOf(key));
    if (key.kind) retired.set(key.path, valueOf(key.path, key.kind, given.get(key.path)));
  }
  const settings = settingsOf(({ path, kind, fallback }) =>
    valueOf(path, kind, given.has(path) ? given.get(path) : fallback),
  );
  const has = (path: string): boolean => given.has(path);
  return checkedTogether(deriveConfig(settings, { has, retired: (path) => retired.get(path) }, env));
}

/** The entries of a source by today's names of keys; if both names of a key are set, the new one is last and counts. */
function currentNames(entries: readonly [string, unknown][]): [string, unknown][] {
  const renamed = entries.flatMap(([path, value]): [string, unknown][] => {
    const now = RENAMED_KEYS.get(path);
    return now === undefined ? [] : [[now, value]];
  });
  return [...renamed, ...entries.filter(([path]) => !RENAMED_KEYS.has(path))];
}

const valueOf = <T>(path: string, kind: ConfigKey<T>['kind'], value: unknown): T =>
  checkedValue(kind, value, path, `${path} (${envNameOf(path)})`);

function readFile(file: string): [string, unknown][] {
  let tree: unknown;
  try {
    tree = parseYaml(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new ConfigError(`${file} is not YAML: ${(error as Error).message.split('\n')[0]}`);
  }
  if (tree === null || tree === undefined) return [];
  if (typeof tree !== 'object' || Array.isArray(tree)) throw new ConfigError(`${file} should be a mapping of keys`);
  const values = [...flatten(tree as Record<string, unknown>, '')];
  const unknown = values.find(([path]) => !keyOf(path));
  if (unknown)
    throw new ConfigError(`${unknown[0]} is not a configuration key; docs/operations/configuration.md lists them`);
  return values;
}

function* flatten(tree: Record<string, unknown>, prefix: string): Generator<[string, unknown]> {
  for (const [name, value] of Object.entries(tree)) {
    const isBranch = typeof value === 'object' && value !== null && !Array.isArray(value);
    if (isBranch) yield* flatten(value as Record<string, unknown>, `${prefix}${name}.`);
    else yield [`${prefix}${name}`, value];
  }
}

/** Whether Kubernetes, or a link of Docker, has set this variable for a service whose name begins with `sheaf`. */
const isServiceLink = (name: string, value: string): boolean =>
  /_SERVICE_(HOST|PORT)(_|$)|_PORT_\d+_(TCP|UDP|SCTP)(_|$)/.test(name) || /^(tcp|udp|sctp):\/\//.test(value);

function* readEnv(env: NodeJS.ProcessEnv): Generator<[string, unknown]> {
  for (const [name, given] of Object.entries(env)) {
    if (!name.startsWith('SHEAF_') || OTHER_VARIABLES.has(name) || given === undefined) continue;
    const path = PATHS_BY_VARIABLE.get(name);
    const key = path !== undefined && keyOf(path);
    if (!key && isServiceLink(name, given)) continue;
    if (!key) throw new ConfigError(`${name} is not a configuration key; docs/operations/configuration.md lists them`);
    yield [path, fromText(name, key, given)];
  }
}

/** Texts are not parsed, so that secrets that look like numbers stay texts. */
function fromText(variable: string, { kind }: AnyKey, given: string): unknown {
  if (!kind || kind.isText) return given;
  try {
    return parseYaml(given);
  } catch {
    throw new ConfigError(`${variable} is neither a number nor YAML: ${given}`);
  }
}

const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost']);

function checkedTogether(config: Config): Config {
  const { chunking, auth, corsOrigins, host, common, tls, embedder, search, tracing } = config;
  if (tls !== undefined) checkTlsFiles(tls);
  if (chunking.overlap > chunking.size / 4)
    throw new ConfigError(`chunking.overlap should be at most a quarter of chunking.size (${chunking.size})`);
  if (auth.mode === 'none' && !LOOPBACK.has(host)) {
    throw new ConfigError(
      `server.host is ${host}, but auth.mode is none, which allows only loopback; set auth.mode to static`,
    );
  }
  if (search.fusion.weights.vector + search.fusion.weights.lexical === 0)
    throw new ConfigError(
      'search.fusion.vector_weight and lexical_weight are both 0: at least one must be greater than 0',
    );
  checkDefault(embedder.default, embedder.instances);
  checkJwt(auth);
  if (tracing.enabled && !URL.canParse(tracing.endpoint))
    throw new ConfigError(
      `tracing.endpoint should be a URL, such as http://127.0.0.1:4318/v1/traces, not ${tracing.endpoint}`,
    );
  if (auth.mode === 'none' && auth.keys.length > 0)
    throw new ConfigError('auth.keys are given, but auth.mode is none: set auth.mode to static');
  if (auth.mode === 'none' && corsOrigins.includes('*'))
    throw new ConfigError(
      'server.cors.origins is *, but auth.mode is none, so that any page could read everything; name the origins, or set auth.mode to static',
    );
  if (!isSlug(common.tenant) || !isSlug(common.collection))
    throw new ConfigError('common.tenant and common.collection should be slugs: up to 128 of A-Z a-z 0-9 . _ -');
  return config;
}

const COLUMNS = 110;
const HEAD = `# The configuration of Sheaf. Each key stands here with its default: take the # away to change it. A variable of the
# environment comes before the file: SHEAF_ and the key in capitals, with __ for each dot, such as SHEAF_SERVER__PORT.
`;

/**
 * The file that `sheaf init` writes: every key with its meaning and its default, commented out. `settings` are
 * `key=value` with YAML values; these keys are not commented out. Throws ConfigError for an unknown key.
 */
export function configExample(settings: readonly string[]): string {
  const given = new Map(settings.map(settingOf));
  const retired = RETIRED_KEYS.filter(({ path }) => given.has(path));
  return `${HEAD}${[...CONFIG_KEYS, ...retired].map((key) => entryOf(key, given)).join('')}`;
}

function settingOf(setting: string): [string, unknown] {
  const at = setting.indexOf('=');
  const name = setting.slice(0, Math.max(0, at)).trim();
  const path = RENAMED_KEYS.get(name) ?? name;
  const key = KEYS.get(path);
  if (!key)
    throw new ConfigError(`--set ${setting} is not a configuration key: write KEY=VALUE, such as server.port=9000`);
  const value = setting.slice(at + 1);
  return [path, key.kind?.isText ? value : parseYaml(value)];
}

function entryOf(key: AnyKey, given: ReadonlyMap<string, unknown>): string {
  const { path } = key;
  const value = given.has(path) || isRetired(key) ? given.get(path) : key.fallback;
  return `\n${wrapped(commentOf(key))}${given.has(path) ? '' : '# '}${path}: ${JSON.stringify(value)}\n`;
}

function commentOf(key: AnyKey): string {
  if (isRetired(key)) return retirementOf(key);
  const { path, meaning, fallbackText } = key;
  const whole = fallbackText === undefined ? meaning : `${meaning} Default: ${fallbackText}.`;
  const text = whole.replace(/\[[^\]]+\]\(([^)#]*)[^)]*\)/g, (_, page: string) => posix.join('docs/operations', page));
  return `${text} (${envNameOf(path)})`;
}

function wrapped(comment: string): string {
  let lines = '';
  let current = '#';
  for (const word of comment.split(' ')) {
    if (current.length + word.length >= COLUMNS) {
      lines += `${current}\n`;
      current = '#';
    }
    current += ` ${word}`;
  }
  return `${lines}${current}\n`;
}
