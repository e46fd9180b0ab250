// The keys of mode `static`: held as SHA-256 digests, looked up by digest and compared in constant time; never logged.
// Made by server.ts from the configuration; asked by authenticate.ts for every request.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A tenant key as it is configured; exactly one of `key` and `key_sha256`. */
export interface KeyConfig {
  name: string;
  tenant: string;
  key?: string;
  key_sha256?: string;
  /** ISO 8601. */
  expires?: string;
}

/** Whom a key belongs to. */
export interface KeyHolder {
  name: string;
  /** undefined: the admin. */
  tenant: string | undefined;
  expiresAtMs: number;
}

export class KeyRing {
  private readonly holders = new Map<string, { digest: Buffer; holder: KeyHolder }>();

  constructor(adminKey: string, keys: readonly KeyConfig[]) {
    this.add(sha256(adminKey), { name: 'admin', tenant: undefined, expiresAtMs: Infinity });
    for (const { name, tenant, key, key_sha256, expires } of keys) {
      const digest = key_sha256 ? Buffer.from(key_sha256, 'hex') : sha256(key ?? '');
      this.add(digest, { name, tenant, expiresAtMs: expires ? Date.parse(expires) : Infinity });
    }
  }

  /** The holder of a presented key; undefined when it is unknown or expired at `nowMs`. */
  find(presented: string, nowMs: number): KeyHolder | undefined {
    if (presented === '') return undefined;
    const digest = sha256(presented);
    const found = this.holders.get(digest.toString('hex'));
    if (!found || !timingSafeEqual(found.digest, digest)) return undefined;
    return found.holder.expiresAtMs > nowMs ? found.holder : undefined;
  }

  private add(digest: Buffer, holder: KeyHolder): void {
    this.holders.set(digest.toString('hex'), { digest, holder });
  }
}

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

/** The admin key kept in the data directory; made, readable by its owner alone, when there is none. */
export function keptAdminKey(dataDir: string): string {
  const file = join(dataDir, 'admin.key');
  try {
    writeFileSync(file, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return readFileSync(file, 'utf8').trim();
}
