// With what tokens are verified: a shared secret (HS256), a public key in PEM (RS256 or EdDSA, by its kind), or the
// keys of a JWKS file by `kid`. Each allows only the algorithms that fit it: a token cannot choose to be checked in
// another way. Opened by server.ts at start; the file is read again when a token names a key that is not in it. Front
// thread.
import { createPublicKey, createSecretKey, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createLocalJWKSet, type JSONWebKeySet, type LocalJWKSet } from 'jose';

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
