// Checks the list of tenant keys in the configuration (`auth.keys`), and holds the error that every wrong configuration is.
// Called by config.ts at start.
import type { KeyConfig } from './tenants/keys.js';

/** A wrong configuration, worded for the operator. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** The keys of tenants out of `auth.keys`, each checked. Throws ConfigError with the place of what is wrong. */
export function checkedKeys(path: string, value: unknown): KeyConfig[] {
  if (!Array.isArray(value)) throw new ConfigError(`${path} should be a list of keys`);
  return value.map((entry: unknown, i) => checkedKey(`${path}[${i}]`, entry));
}

const KEY_FIELDS: ReadonlySet<string> = new Set(['name', 'tenant', 'key', 'key_sha256', 'expires']);

function checkedKey(at: string, entry: unknown): KeyConfig {
  if (typeof entry !== 'object' || entry === null) throw new ConfigError(`${at} should be {name, tenant, key | key_sha256, expires}`);
  const key = entry as Record<string, unknown>;
  for (const [field, value] of Object.entries(key)) {
    if (!KEY_FIELDS.has(field)) throw new ConfigError(`${at}.${field}: there is no such field`);
    if (typeof value !== 'string') throw new ConfigError(`${at}.${field} should be text (in YAML: in quotes)`);
  }
  for (const field of ['name', 'tenant']) if (!key[field]) throw new ConfigError(`${at}.${field} is missing`);
  if (!key.key === !key.key_sha256) throw new ConfigError(`${at} wants exactly one of key and key_sha256`);
  if (key.key_sha256 && !/^[0-9a-fA-F]{64}$/.test(key.key_sha256 as string)) throw new ConfigError(`${at}.key_sha256 should be 64 hexadecimal digits`);
  if (key.expires && Number.isNaN(Date.parse(key.expires as string))) throw new ConfigError(`${at}.expires should be an ISO 8601 time`);
  return key as unknown as KeyConfig;
}
