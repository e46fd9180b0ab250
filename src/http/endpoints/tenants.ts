// Tenants and keys at run time, for the admin.
// Handlers on the front thread: body in, use case, reply out. The route table (routes/tenants.ts) names them.
import typia from 'typia';
import type {
  CreatedKey,
  CreatedTenant,
  CreateKeyBody,
  CreateTenantBody,
  DeletedTenant,
  KeyList,
  RevokedKey,
  TenantKey,
  UpdateTenantBody,
} from '../../contract/api/tenants.js';
import { invalidField } from '../../contract/errors.js';
import { asTenant } from '../../contract/ids.js';
import type { KeyRecord } from '../../contract/tenants.js';
import type { Context } from '../../service/context.js';
import { createKey, listKeys, revokeKey } from '../../service/tenant-keys.js';
import { createTenant, deleteTenant, tenantProfile, updateTenant } from '../../service/tenants.js';
import { flag } from '../query-values.js';
import type { Handler } from '../route.js';
import { fitting, parseJson } from '../validation.js';
import { param, tenantOf } from './path.js';

const validateCreate = typia.createValidateEquals<CreateTenantBody>();
const validateUpdate = typia.createValidateEquals<UpdateTenantBody>();
const validateKey = typia.createValidateEquals<CreateKeyBody>();

export const postTenant =
  (context: Context): Handler =>
  async (request) => {
    const { tenant, ...options } = fitting(validateCreate(parseJson(await request.body.bytes())), 'body');
    const { profile, key, plaintext } = await createTenant(context, asTenant(tenant), optionsOf(options));
    return {
      status: 201,
      json: { ...profile, key_id: key.key_id, label: key.label, key: plaintext } satisfies CreatedTenant,
    };
  };

export const getTenant =
  (context: Context): Handler =>
  async (request) => ({ status: 200, json: tenantProfile(context, tenantOf(request)) });

export const patchTenant =
  (context: Context): Handler =>
  async (request) => {
    const tenant = tenantOf(request);
    const change = fitting(validateUpdate(parseJson(await request.body.bytes())), 'body');
    return { status: 200, json: await updateTenant(context, tenant, optionsOf(change)) };
  };

export const removeTenant =
  (context: Context): Handler =>
  async (request) => {
    const tenant = tenantOf(request);
    const collections = await deleteTenant(context, tenant, flag(request, 'force'));
    return { status: 200, json: { tenant, deleted: tenant, collections_deleted: collections } satisfies DeletedTenant };
  };

export const getKeys =
  (context: Context): Handler =>
  async (request) => {
    const tenant = tenantOf(request);
    const keys = listKeys(context, tenant).map(publicKey);
    return { status: 200, json: { tenant, keys, count: keys.length } satisfies KeyList };
  };

export const postKey =
  (context: Context): Handler =>
  async (request) => {
    const tenant = tenantOf(request);
    const body = fitting(validateKey(parseJson(await request.body.bytes(), true)), 'body');
    const { key, plaintext } = await createKey(context, tenant, body);
    return { status: 201, json: { tenant, ...publicKey(key), key: plaintext } satisfies CreatedKey };
  };

export const removeKey =
  (context: Context): Handler =>
  async (request) => {
    const tenant = tenantOf(request);
    return {
      status: 200,
      json: { tenant, ...publicKey(await revokeKey(context, tenant, param(request, 'key_id'))) } satisfies RevokedKey,
    };
  };

/** Throws 422 where one quota is given by both of its names, and differs. */
function optionsOf({ max_concurrent: alias, ...options }: UpdateTenantBody): Omit<UpdateTenantBody, 'max_concurrent'> {
  if (alias === undefined) return options;
  if (options.max_in_flight !== undefined && options.max_in_flight !== alias)
    throw invalidField(
      ['body', 'max_concurrent'],
      'is another name of max_in_flight, which differs',
      'value_error',
      alias,
    );
  return { ...options, max_in_flight: alias };
}

/** A key as it is shown: never its digest; without what it does not have. */
function publicKey({ tenant: _tenant, digest: _digest, key_id, label, created_at, ...optional }: KeyRecord): TenantKey {
  return {
    key_id,
    label,
    created_at,
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== null)),
  };
}
