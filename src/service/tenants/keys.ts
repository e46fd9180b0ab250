// The keys that are good now: held as SHA-256 digests, looked up by digest and compared in constant time, never logged;
// and how new ones are made. Front thread.
import * as crypto from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type KeyConfig, digestOf, digestOfConfigured } from '../../config/auth.js';
import { type Actor, actorOf } from './actor.js';

interface Holder {
  readonly digest: Buffer;
  readonly actor: Actor;
  readonly expiresAtMs: number;
}

export class KeyRing {
  private readonly holders = new Map<string, Holder>();

  /** Without an admin key nobody is the admin. */
  constructor(adminKey: string, keys: readonly KeyConfig[]) {
    for (const key of keys)
      this.add(digestOfConfigured(key), actorOf(key), key.expires ? Date.parse(key.expires) : Infinity);
    if (adminKey !== '') this.add(digestOf(adminKey), { name: 'admin', admin: true, unlimited: true }, Infinity);
  }

  /** `digest`: SHA-256 of the key in hexadecimal. */
  add(digest: string, actor: Actor, expiresAtMs: number): void {
    this.holders.set(digest, { digest: Buffer.from(digest, 'hex'), actor, expiresAtMs });
  }

  remove(digest: string): void {
    this.holders.delete(digest);
  }

  /** Whom the key with this digest belongs to; undefined when it is unknown or expired at `nowMs`. */
  find(digest: string, nowMs: number): Actor | undefined {
    const found = this.holders.get(digest);
    if (!found || !crypto.timingSafeEqual(found.digest, Buffer.from(digest, 'hex'))) return undefined;
    return found.expiresAtMs > nowMs ? found.actor : undefined;
  }
}

/** A new key: 256 random bits behind a prefix by which scanners for leaked secrets know it. */
export const newKey = (): string => `sheaf_${crypto.randomBytes(32).toString('base64url')}`;

/** The admin key kept in the data directory; made, readable by its owner alone, when there is none. */
export function keptAdminKey(dataDir: string): string {
  const file = join(dataDir, 'admin.key');
  try {
    writeFileSync(file, `${crypto.randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return readFileSync(file, 'utf8').trim();
}
