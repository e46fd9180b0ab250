// `sheaf keys`: keys of a tenant. The key itself goes to standard output alone, so that a script can take it. Called by
// key-commands.ts.
import type { Answered } from '../client/client.js';
import { SheafError } from '../client/errors.js';
import type { CreatedKey, CreateKeyBody, TenantKey } from '../contract/api/tenants.js';
import { UsageError } from './explain-error.js';
import { line, ownFields, table, type Output } from './output.js';
import type { TenantTarget } from './target.js';

export interface MakeOptions {
  body: CreateKeyBody;
  newTenant: boolean;
  json: boolean;
}

export async function makeKey(
  target: TenantTarget,
  { body, newTenant, json }: MakeOptions,
  output: Output,
): Promise<void> {
  const { stdout, stderr } = output;
  const wanted = { ...body, expires: timeOf(body.expires) };
  const made = ownFields(await (newTenant ? firstKey(target, wanted, output) : laterKey(target, wanted)));
  if (json) return line(stdout, JSON.stringify(made, null, 2));
  line(
    stderr,
    `Key ${made.key_id} (${made.label}) of tenant ${target.tenant}, ${goodFor(made)}. It is shown this once:`,
  );
  line(stdout, made.key);
}

async function laterKey({ client, tenant }: TenantTarget, body: CreateKeyBody): Promise<Answered<CreatedKey>> {
  try {
    return await client.admin.createKey(tenant, body);
  } catch (error) {
    if (error instanceof SheafError && error.code === 'tenant_not_found')
      throw new UsageError(`There is no tenant ${tenant}: say --new-tenant to make it as well.`);
    throw error;
  }
}

/**
 * A new tenant comes with a key that is good for everything, and for as long as it likes: nobody is to have it, even
 * where the wanted one is refused.
 */
async function firstKey(
  { client, tenant }: TenantTarget,
  body: CreateKeyBody,
  { stderr }: Output,
): Promise<Answered<CreatedKey>> {
  const { key_id: first } = await client.admin.createTenant({ tenant });
  try {
    return await client.admin.createKey(tenant, body);
  } finally {
    // The wanted key is shown once: what fails here must not hide it.
    await client.admin
      .revokeKey(tenant, first)
      .catch(() =>
        line(stderr, `The key that tenant ${tenant} came with is still good: sheaf keys revoke -t ${tenant} ${first}`),
      );
  }
}

/** A day is its beginning, by UTC. */
function timeOf(text: string | null | undefined): string | undefined {
  if (text == null) return undefined;
  const time = new Date(text);
  if (Number.isNaN(time.getTime()))
    throw new UsageError(`--expires ${text} is no time: one is like 2027-01-01 or 2027-01-01T12:00:00Z.`);
  return time.toISOString();
}

export async function listKeys({ client, tenant }: TenantTarget, json: boolean, { stdout }: Output): Promise<void> {
  const { keys } = await client.admin.listKeys(tenant);
  if (json) return keys.forEach((key) => line(stdout, JSON.stringify(key)));
  if (keys.length === 0) return line(stdout, `Tenant ${tenant} has no keys. sheaf keys make -t ${tenant} makes one.`);
  line(
    stdout,
    table(
      ['key id', 'label', 'made', 'good for'],
      keys.map((key) => [key.key_id, key.label, key.created_at, goodFor(key)]),
    ),
  );
}

function goodFor({ scopes, collections, filters, expires, revoked_at: revokedAt }: TenantKey): string {
  if (revokedAt !== undefined) return `nothing, revoked ${revokedAt}`;
  const what = scopes ? scopes.join(', ') : 'everything';
  const where = collections ? ` in ${collections.join(', ')}` : '';
  const which = filters ? ` where ${JSON.stringify(filters)}` : '';
  return `${what}${where}${which}${expires ? ` until ${expires}` : ''}`;
}

export async function revokeKey({ client, tenant }: TenantTarget, keyId: string, { stdout }: Output): Promise<void> {
  const { label } = await client.admin.revokeKey(tenant, keyId);
  line(stdout, `Key ${keyId} (${label}) of tenant ${tenant} is revoked.`);
}
