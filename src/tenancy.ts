// Composes what tells tenants apart: keys, tokens, run-time tenants, limits, authentication. No logic of its own.
// Called by server.ts at start; front thread.
import type { Log } from './base/log.js';
import type { Config } from './config-shape.js';
import type { HttpServerOptions } from './http/options.js';
import { siteGuard } from './http/site-guard.js';
import { allowEverybody, authenticateBy } from './tenants/authenticate.js';
import { keptAdminKey, KeyRing } from './tenants/keys.js';
import { TenantLimiter } from './tenants/limiter.js';
import { configuredLimits } from './tenants/limits.js';
import { TenantRegistry } from './tenants/registry.js';
import { openTokenKeys } from './tenants/token-keys.js';
import { TokenVerifier } from './tenants/tokens.js';

/** In mode none there is no admin key, and nobody asks for one. */
export function createRegistry({ auth, tenantLimits }: Config, dataDir: string): TenantRegistry {
  const adminKey = auth.mode === 'none' ? '' : auth.adminKey || keptAdminKey(dataDir);
  return new TenantRegistry(new KeyRing(adminKey, auth.keys), configuredLimits(tenantLimits));
}

/** Who gets in, and how often. */
export function createDoor(
  config: Config,
  tenants: TenantRegistry,
  log: Log,
): Pick<HttpServerOptions, 'authenticate' | 'admit' | 'guardSite'> {
  const limiter = new TenantLimiter(
    (tenant) => tenants.limitsOf(tenant),
    () => performance.now(),
  );
  const known = { keys: tenants.ring, hasLoaded: () => tenants.loaded, nowMs: Date.now, ...createTokens(config, log) };
  return {
    authenticate: config.auth.mode === 'none' ? allowEverybody : authenticateBy(known),
    admit: (actor, tenant) => limiter.admit(actor, tenant),
    guardSite: config.auth.mode === 'none' ? siteGuard(config.allowedSites) : undefined,
  };
}

function createTokens({ auth: { mode, jwt } }: Config, log: Log): { tokens?: TokenVerifier } {
  if (mode !== 'jwt') return {};
  const keys = openTokenKeys(jwt, Date.now(), (error) =>
    log.warn({ reason: error.message }, 'the token keys could not be read again; the old ones are used'),
  );
  return { tokens: new TokenVerifier({ keys, issuer: jwt.issuer, audience: jwt.audience, nowMs: Date.now }) };
}
