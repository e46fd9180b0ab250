// The tokens of mode `jwt`: verified by the jose library, their claims turned into an actor. A verified token is
// remembered by its SHA-256 for a while, so that its next request is answered at once. Asked by authenticate.ts on the
// front thread.
import { errors, jwtVerify } from 'jose';
import { AppError } from '../contract/errors.js';
import type { Actor } from './actor.js';
import { actorOfClaims } from './claims.js';
import type { TokenKeys } from './token-keys.js';

export interface TokenVerifierOptions {
  readonly keys: TokenKeys;
  /** Wanted `iss` and `aud`; '' for any. */
  readonly issuer: string;
  readonly audience: string;
  readonly nowMs: () => number;
}

/** How far the clocks of issuer and server may be apart. */
const LEEWAY_S = 30;
const REMEMBERED_MAX = 10_000;
/** A key that is taken out of the JWKS file ends its tokens after this long at the latest. */
const REMEMBERED_MS = 5 * 60_000;

/** Three parts of base64url with points between: keys of ours never look like this. */
export const looksLikeToken = (presented: string): boolean => /^[\w-]+\.[\w-]+\.[\w-]*$/.test(presented);

export class TokenVerifier {
  private readonly remembered = new Map<string, { actor: Actor; untilMs: number }>();

  constructor(private readonly options: TokenVerifierOptions) {}

  /**
   * Whom the token with this digest speaks for; at once where it has been verified lately. Rejects with AppError 401
   * `auth_invalid`, without a reason.
   */
  verify(token: string, digest: string): Actor | Promise<Actor> {
    const known = this.remembered.get(digest);
    if (known && known.untilMs > this.options.nowMs()) return known.actor;
    this.remembered.delete(digest);
    return this.verifyAnew(token, digest);
  }

  private async verifyAnew(token: string, digest: string): Promise<Actor> {
    const { nowMs } = this.options;
    const claims = await this.claimsOf(token);
    const actor = actorOfClaims(claims);
    const expiresAtMs = claims.exp === undefined ? Infinity : (claims.exp + LEEWAY_S) * 1000;
    this.remember(digest, actor, Math.min(expiresAtMs, nowMs() + REMEMBERED_MS));
    return actor;
  }

  private async claimsOf(token: string): Promise<Record<string, unknown> & { exp?: number }> {
    const { keys, issuer, audience, nowMs } = this.options;
    const wanted = { ...(issuer && { issuer }), ...(audience && { audience }) };
    const verify = async (): Promise<Record<string, unknown>> => {
      const { key, algorithms } = keys.current(nowMs());
      const checks = {
        algorithms: [...algorithms],
        clockTolerance: LEEWAY_S,
        currentDate: new Date(nowMs()),
        ...wanted,
      };
      const verified = typeof key === 'function' ? jwtVerify(token, key, checks) : jwtVerify(token, key, checks);
      return (await verified).payload;
    };
    try {
      return await verify().catch((error: unknown) => {
        if (error instanceof errors.JWKSNoMatchingKey && keys.reread(nowMs())) return verify();
        throw error;
      });
    } catch {
      throw new AppError('auth_invalid');
    }
  }

  private remember(digest: string, actor: Actor, untilMs: number): void {
    const [oldest] = this.remembered.keys();
    if (this.remembered.size >= REMEMBERED_MAX && oldest !== undefined) this.remembered.delete(oldest);
    this.remembered.set(digest, { actor, untilMs });
  }
}
