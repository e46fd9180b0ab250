// Checks what the configuration says of keys and tokens (`auth.keys`, `auth.jwt`), and holds the error that every wrong
// configuration is. Called by config.ts at start.
import type { Config } from './config-shape.js';
import { SCOPES } from './contract/tenants.js';
import { parseFilter } from './rank/parse-filter.js';
import { digestOfConfigured, type KeyConfig } from './tenants/keys.js';
import { openTokenKeys } from './tenants/token-keys.js';

/** A wrong configuration, worded for the operator. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** The keys of tenants out of `auth.keys`, each checked. Throws ConfigError with the place of what is wrong. */
export function checkedKeys(path: string, value: unknown): KeyConfig[] {
  if (!Array.isArray(value)) throw new ConfigError(`${path} should be a list of keys`);
  const keys = value.map((entry: unknown, i) => checkedKey(`${path}[${i}]`, entry));
  const digests = keys.map(digestOfConfigured);
  digests.forEach((digest, i) => {
    if (digests.indexOf(digest) !== i)
      throw new ConfigError(`${path}[${i}] is the same key as ${path}[${digests.indexOf(digest)}]`);
  });
  return keys;
}

const isListOf = (value: unknown, fits: (item: unknown) => boolean): boolean =>
  Array.isArray(value) && value.length > 0 && value.every(fits);
const isText = (value: unknown): boolean => typeof value === 'string';

function isFilter(value: unknown): boolean {
  try {
    parseFilter(value as Record<string, unknown>, { stringOperators: false, safeNumbers: true });
    return true;
  } catch {
    return false;
  }
}

/** Every field of a key: whether a value fits, and what would. */
const KEY_FIELDS: Readonly<Record<string, { fits: (value: unknown) => boolean; wanted: string }>> = {
  ...Object.fromEntries(
    ['name', 'tenant', 'key', 'key_sha256', 'expires'].map((field) => [
      field,
      { fits: isText, wanted: 'text (in YAML: in quotes)' },
    ]),
  ),
  scopes: {
    fits: (value) => isListOf(value, (item) => SCOPES.some((scope) => scope === item)),
    wanted: `a list out of ${SCOPES.join(', ')}`,
  },
  collections: { fits: (value) => isListOf(value, isText), wanted: 'a list of collection names' },
  filters: { fits: isFilter, wanted: 'a mapping of metadata filters' },
};

function checkedKey(at: string, entry: unknown): KeyConfig {
  if (typeof entry !== 'object' || entry === null)
    throw new ConfigError(`${at} should be {name, tenant, key | key_sha256, expires}`);
  const key = entry as Record<string, unknown>;
  for (const [field, value] of Object.entries(key)) {
    const known = Object.hasOwn(KEY_FIELDS, field) ? KEY_FIELDS[field] : undefined;
    if (!known) throw new ConfigError(`${at}.${field}: there is no such field`);
    if (!known.fits(value)) throw new ConfigError(`${at}.${field} should be ${known.wanted}`);
  }
  for (const field of ['name', 'tenant']) if (!key[field]) throw new ConfigError(`${at}.${field} is missing`);
  if (!key.key === !key.key_sha256) throw new ConfigError(`${at} wants exactly one of key and key_sha256`);
  if (key.key_sha256 && !/^[0-9a-fA-F]{64}$/.test(key.key_sha256 as string))
    throw new ConfigError(`${at}.key_sha256 should be 64 hexadecimal digits`);
  if (key.expires && Number.isNaN(Date.parse(key.expires as string)))
    throw new ConfigError(`${at}.expires should be an ISO 8601 time`);
  return key as unknown as KeyConfig;
}

/** Mode jwt wants exactly one source of token keys, and one that is good; the other modes none. Throws ConfigError. */
export function checkJwt({ mode, jwt }: Config['auth']): void {
  const given = [jwt.secret, jwt.publicKeyFile, jwt.jwksFile].filter((source) => source !== '').length;
  if (mode === 'jwt' && given !== 1)
    throw new ConfigError(
      'auth.mode is jwt: give exactly one of auth.jwt.secret, auth.jwt.public_key_file and auth.jwt.jwks_file',
    );
  if (mode !== 'jwt' && given > 0)
    throw new ConfigError(`auth.jwt is given, but auth.mode is ${mode}: set auth.mode to jwt`);
  try {
    if (mode === 'jwt') openTokenKeys(jwt, 0, () => undefined);
  } catch (error) {
    throw new ConfigError((error as Error).message);
  }
}
