// The valid keys, stored as SHA-256 digests, looked up by digest and compared in constant time, never logged; also the
// creation of new keys. Runs on front threads and on the main thread.
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

  /** With an empty admin key there is no admin. */
  constructor(adminKey: string, keys: readonly KeyConfig[]) {
    for (const key of keys)
      this.add(
        digestOfConfigured(key),
        actorOf(key, digestOfConfigured(key)),
        key.expires ? Date.parse(key.expires) : Infinity,
      );
    if (adminKey !== '') this.add(digestOf(adminKey), { name: 'admin', admin: true, unlimited: true }, Infinity);
  }

  /** `digest` is the SHA-256 of the key in hexadecimal. */
  add(digest: string, actor: Actor, expiresAtMs: number): void {
    this.holders.set(digest, { digest: Buffer.from(digest, 'hex'), actor, expiresAtMs });
  }

  remove(digest: string): void {
    this.holders.delete(digest);
  }

  /** The actor of the key with this digest; undefined if it is unknown or expired at `nowMs`. */
  find(digest: string, nowMs: number): Actor | undefined {
    const found = this.holders.get(digest);
    if (!found || !crypto.timingSafeEqual(found.digest, Buffer.from(digest, 'hex'))) return undefined;
    return found.expiresAtMs > nowMs ? found.actor : undefined;
  }
}

/** A new key: 256 random bits with a prefix that scanners for leaked secrets recognize. */
export const newKey = (): string => `sheaf_${crypto.randomBytes(32).toString('base64url')}`;

/** Reads the admin key from the data directory; creates it if missing, readable by its owner only. */
export function keptAdminKey(dataDir: string): string {
  const file = join(dataDir, 'admin.key');
  try {
    writeFileSync(file, `${crypto.randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return readFileSync(file, 'utf8').trim();
}

/** With auth mode `none` there is no admin key, and none is read or created. Returns '' then. */
export const adminKeyOf = ({ mode, adminKey }: { mode: string; adminKey: string }, dataDir: string): string =>
  mode === 'none' ? '' : adminKey || keptAdminKey(dataDir);
