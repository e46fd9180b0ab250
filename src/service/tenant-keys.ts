// Use cases on the keys of a tenant that are made at run time: make, list, revoke. Only digests are kept.
// Called by the admin's key endpoints; front thread. A change is committed by shard 0's worker first and shown here
// after.
import { v7 as uuidv7 } from 'uuid';
import type { CreateKeyBody } from '../contract/api/tenants.js';
import { AppError, invalidField } from '../contract/errors.js';
import { asCollectionName, CONTROL_CHARACTERS, type Tenant } from '../contract/ids.js';
import { DISPLAY_NAME_CHARACTERS_MAX, KEY_FILTERS_BYTES_MAX } from '../contract/limits.js';
import type { KeyRecord } from '../contract/tenants.js';
import { parseFilter } from '../rank/parse-filter.js';
import { digestOf, newKey } from '../tenants/keys.js';
import { changeCatalog } from './change-catalog.js';
import type { Context } from './context.js';
import { newRecord } from './new-tenant.js';

const LABEL_DEFAULT = 'primary';

/** A key that has been made; the plaintext is in nobody else's hands. */
export interface MadeKey {
  plaintext: string;
  key: KeyRecord;
}

/** Throws 404 `tenant_not_found`, 409 `key_limit_reached`, 400 `invalid_collection_name`, 422. */
export async function createKey(context: Context, tenant: Tenant, options: CreateKeyBody): Promise<MadeKey> {
  const made = keyRecord(context, tenant, options);
  const record = newRecord(context, tenant);
  const { tenants } = context;
  await changeCatalog(context, 'createKey', { tenant: record, key: made.key }, (gone) => {
    if (!tenants.find(tenant)) tenants.put(record);
    if (gone) tenants.removeKey(gone);
    tenants.putKey(made.key);
  });
  return made;
}

/** In the order of making, revoked ones included. Throws 404 `tenant_not_found`. */
export function listKeys({ catalog, tenants }: Context, tenant: Tenant): KeyRecord[] {
  if (!tenants.find(tenant) && catalog.ofTenant(tenant).length === 0) throw new AppError('tenant_not_found');
  return tenants.keysOf(tenant);
}

/** The key is no good from the answer on; revoking it again changes nothing. Throws 404 `key_not_found`. */
export function revokeKey(context: Context, tenant: Tenant, keyId: string): Promise<KeyRecord> {
  const revokedAt = new Date(context.nowMs()).toISOString();
  return changeCatalog(context, 'revokeKey', { tenant, keyId, revokedAt }, (revoked) => {
    context.tenants.putKey(revoked);
    return revoked;
  });
}

/** A new key; nothing is stored. */
export function keyRecord({ nowMs }: Pick<Context, 'nowMs'>, tenant: Tenant, options: CreateKeyBody): MadeKey {
  const { label, expires, scopes, collections, filters } = options;
  const plaintext = newKey();
  const key: KeyRecord = {
    tenant,
    key_id: uuidv7(),
    label: checkedLabel(label ?? LABEL_DEFAULT),
    digest: digestOf(plaintext),
    created_at: new Date(nowMs()).toISOString(),
    expires: expires == null ? null : futureTime(expires, nowMs()),
    revoked_at: null,
    scopes: scopes ?? null,
    collections: collections?.map(asCollectionName) ?? null,
    filters: filters == null ? null : checkedFilters(filters),
  };
  return { plaintext, key };
}

function checkedLabel(raw: string): string {
  const label = raw.trim();
  if (label !== '' && [...label].length <= DISPLAY_NAME_CHARACTERS_MAX && !CONTROL_CHARACTERS.test(label)) return label;
  throw invalidField(
    ['body', 'label'],
    `Should have 1 to ${DISPLAY_NAME_CHARACTERS_MAX} characters and no control characters.`,
    'value_error',
  );
}

function futureTime(text: string, nowMs: number): string {
  const timeMs = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : NaN;
  if (Number.isNaN(timeMs))
    throw invalidField(['body', 'expires'], 'Should be an ISO 8601 time.', 'datetime_parsing', text.slice(0, 200));
  if (timeMs <= nowMs) throw invalidField(['body', 'expires'], 'Should be in the future.', 'datetime_future', text);
  return new Date(timeMs).toISOString();
}

/** Strings in them are literal, whatever `search.string_operators` says of those in a body. */
function checkedFilters(filters: Record<string, unknown>): Record<string, unknown> {
  parseFilter(filters, { stringOperators: false });
  if (Buffer.byteLength(JSON.stringify(filters)) <= KEY_FILTERS_BYTES_MAX) return filters;
  throw invalidField(['body', 'filters'], `Should be at most ${KEY_FILTERS_BYTES_MAX} bytes of JSON.`, 'too_long');
}
