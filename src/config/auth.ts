// Checks what the configuration says of keys and tokens (`auth.keys`, `auth.jwt`), and holds the error that every wrong
// configuration is. Called by config.ts at start.
import { type KeyObject, createPublicKey, createSecretKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type JSONWebKeySet, type LocalJWKSet, createLocalJWKSet } from 'jose';
import { parseFilter } from '../api/filter.js';
import { SCOPES } from '../api/tenants.js';
import { type KeyConfig, digestOfConfigured } from '../service/tenants/keys.js';
import type { Config } from './config.js';

// With what tokens are verified: a shared secret (HS256), a public key in PEM (RS256 or EdDSA, by its kind), or the
// keys of a JWKS file by `kid`. Each allows only the algorithms that fit it: a token cannot choose to be checked in
// another way. Opened by server.ts at start; the file is read again when a token names a key that is not in it. Front
// thread.

/** Exactly one is given; the others are ''. */
export interface TokenKeySource {
  readonly secret: string;
  readonly publicKeyFile: string;
  readonly jwksFile: string;
}

/** A secret or key file that is no good, worded for the operator. */
class TokenKeyError extends Error {
  override readonly name = 'TokenKeyError';
}

export interface TokenKeys {
  current(nowMs: number): { key: KeyObject | LocalJWKSet; algorithms: readonly string[] };
  /** Reads the keys again, unless that was done just now; whether it was done. */
  reread(nowMs: number): boolean;
}

const SECRET_BYTES_MIN = 32;
const RSA_BITS_MIN = 2048;
const EDDSA = ['EdDSA', 'Ed25519'];
const REREAD_MS_MIN = 10_000;
/** So that a key which is taken out of the file goes, too. */
const REREAD_MS_MAX = 5 * 60_000;

/** Throws TokenKeyError. `onBadFile` is told when a JWKS file is no good any more; the keys it had go on being used. */
export function openTokenKeys(
  { secret, publicKeyFile, jwksFile }: TokenKeySource,
  nowMs: number,
  onBadFile: (error: Error) => void,
): TokenKeys {
  if (jwksFile !== '') return new JwksFile(jwksFile, nowMs, onBadFile);
  const only = secret === '' ? publicKey(publicKeyFile) : secretKey(secret);
  return { current: () => only, reread: () => false };
}

function secretKey(secret: string): ReturnType<TokenKeys['current']> {
  if (Buffer.byteLength(secret) < SECRET_BYTES_MIN)
    throw new TokenKeyError(`auth.jwt.secret should have at least ${SECRET_BYTES_MIN} bytes`);
  return { key: createSecretKey(secret, 'utf8'), algorithms: ['HS256'] };
}

function publicKey(file: string): ReturnType<TokenKeys['current']> {
  const wrong = (what: string): TokenKeyError => new TokenKeyError(`auth.jwt.public_key_file: ${file} ${what}`);
  const key = attempt(
    () => createPublicKey(readFileSync(file)),
    () => wrong('is no readable PEM file of a public key'),
  );
  if (key.asymmetricKeyType === 'ed25519') return { key, algorithms: EDDSA };
  if (key.asymmetricKeyType !== 'rsa') throw wrong('is neither an RSA nor an Ed25519 key');
  if ((key.asymmetricKeyDetails?.modulusLength ?? 0) < RSA_BITS_MIN)
    throw wrong(`is an RSA key of less than ${RSA_BITS_MIN} bits`);
  return { key, algorithms: ['RS256'] };
}

class JwksFile implements TokenKeys {
  private key: LocalJWKSet;

  constructor(
    private readonly file: string,
    private readAtMs: number,
    private readonly onBadFile: (error: Error) => void,
  ) {
    this.key = this.read();
  }

  current(nowMs: number): ReturnType<TokenKeys['current']> {
    if (nowMs - this.readAtMs > REREAD_MS_MAX) this.reread(nowMs);
    return { key: this.key, algorithms: ['RS256', ...EDDSA] };
  }

  reread(nowMs: number): boolean {
    if (nowMs - this.readAtMs < REREAD_MS_MIN) return false;
    this.readAtMs = nowMs;
    try {
      this.key = this.read();
      return true;
    } catch (error) {
      this.onBadFile(error as Error);
      return false;
    }
  }

  private read(): LocalJWKSet {
    const wrong = (): TokenKeyError => new TokenKeyError(`auth.jwt.jwks_file: ${this.file} is no readable JWKS file`);
    return attempt(() => createLocalJWKSet(JSON.parse(readFileSync(this.file, 'utf8')) as JSONWebKeySet), wrong);
  }
}

function attempt<T>(work: () => T, otherwise: () => Error): T {
  try {
    return work();
  } catch {
    throw otherwise();
  }
}

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
