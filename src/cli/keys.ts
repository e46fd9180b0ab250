// `sheaf keys`: create, list and revoke the keys of a tenant, which requires the admin key. Standard output gets only
// the new key, so that a script can read it.
import { type Command, Option } from 'commander';
import type { CreateKeyBody, CreatedKey, TenantKey } from '../api/tenants.js';
import { SCOPES, type Scope } from '../api/choices.js';
import type { Answered } from '../client/client.js';
import { SheafError } from '../client/errors.js';
import {
  type CommandLine,
  type Filters,
  type TenantFlags,
  type TenantTarget,
  examples,
  filterWord,
  gathered,
  integerBetween,
  numberBetween,
  tenantOf,
  withTenant,
} from './command-line.js';
import { UsageError } from './errors.js';
import { type Output, line, ownFields, table } from './output.js';

interface MakeFlags extends TenantFlags {
  label?: string;
  scope?: Scope[];
  only?: string[];
  filter?: Filters;
  expires?: string;
  rate?: number;
  inFlight?: number;
  newTenant?: true;
  json?: true;
}

const EXAMPLES = examples(
  'export SHEAF_API_KEY=$(cat data/admin.key)',
  'sheaf keys make -t acme --new-tenant --label web --scope search',
  'sheaf keys make -t acme --only handbook --filter public=true --expires 2027-01-01',
  'sheaf keys list -t acme',
  'sheaf keys revoke -t acme KEY_ID',
);

export function addKeyCommands(cli: CommandLine): void {
  const { program, env, output } = cli;
  const keys = program
    .command('keys')
    .description('create, list and revoke the keys of a tenant; requires the admin key')
    .addHelpText('after', EXAMPLES);
  addMake(keys, cli);
  withTenant(keys.command('list', { isDefault: true }))
    .description('list the keys of a tenant, including revoked ones')
    .option('--json', 'print one key per line, as JSON')
    .action((flags: TenantFlags & { json?: true }) => listKeys(tenantOf(flags, env), flags.json === true, output));
  withTenant(keys.command('revoke').argument('<key_id>'))
    .description('revoke a key')
    .action((keyId: string, flags: TenantFlags) => revokeKey(tenantOf(flags, env), keyId, output));
}

function addMake(keys: Command, { env, output }: CommandLine): void {
  withTenant(keys.command('make'))
    .description('create a key and print it, alone on standard output; it cannot be shown again')
    .option('--label <text>', 'label for people and the query log')
    .addOption(new Option('--scope <scope...>', 'scopes of the key; default: all').choices([...SCOPES]))
    .option('--only <collection>', 'collection that the key can access; may be repeated; default: all', gathered)
    .option(
      '--filter <field=value>',
      'filter for all searches of the key, which can then only search; may be repeated',
      filterWord,
    )
    .option('--expires <time>', 'expiry time, such as 2027-01-01 or 2027-01-01T12:00:00Z')
    .option(
      '--rate <number>',
      'requests per second of the key; default: those of the tenant',
      numberBetween(0, 1_000_000),
    )
    .option(
      '--in-flight <n>',
      'requests of the key at a time; default: those of the tenant',
      integerBetween(1, 1_000_000),
    )
    .option('--new-tenant', 'also create the tenant')
    .option('--json', 'print the answer as JSON')
    .action(({ label, scope, only, filter, expires, rate, inFlight, newTenant, json, ...flags }: MakeFlags) => {
      const limits = { requests_per_second: rate, max_in_flight: inFlight };
      const body = { label, scopes: scope, collections: only, filters: filter, expires, ...limits };
      return makeKey(tenantOf(flags, env), { body, newTenant: newTenant === true, json: json === true }, output);
    });
}

interface MakeOptions {
  body: CreateKeyBody;
  newTenant: boolean;
  json: boolean;
}

async function makeKey(target: TenantTarget, { body, newTenant, json }: MakeOptions, output: Output): Promise<void> {
  const { stdout, stderr } = output;
  const wanted = { ...body, expires: timeOf(body.expires) };
  const made = ownFields(await (newTenant ? firstKey(target, wanted, output) : laterKey(target, wanted)));
  if (json) return line(stdout, JSON.stringify(made, null, 2));
  line(
    stderr,
    `Key ${made.key_id} (${made.label}) of tenant ${target.tenant}, ${goodFor(made)}. It is shown only this once:`,
  );
  line(stdout, made.key);
}

async function laterKey({ client, tenant }: TenantTarget, body: CreateKeyBody): Promise<Answered<CreatedKey>> {
  try {
    return await client.admin.createKey(tenant, body);
  } catch (error) {
    if (error instanceof SheafError && error.code === 'tenant_not_found')
      throw new UsageError(`There is no tenant ${tenant}: use --new-tenant to create it.`);
    throw error;
  }
}

/**
 * Creates a tenant with the requested key. The first key of a new tenant has all scopes and no expiry, so it is
 * revoked, even if creating the requested key fails.
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
    // The requested key is shown only once, so a failure here must not hide it.
    await client.admin
      .revokeKey(tenant, first)
      .catch(() =>
        line(
          stderr,
          `The first key of tenant ${tenant} is still valid; revoke it: sheaf keys revoke -t ${tenant} ${first}`,
        ),
      );
  }
}

/** A date without a time means its beginning in UTC. */
function timeOf(text: string | null | undefined): string | undefined {
  if (text == null) return undefined;
  const time = new Date(text);
  if (Number.isNaN(time.getTime()))
    throw new UsageError(`--expires ${text} is not a time. Use a form such as 2027-01-01 or 2027-01-01T12:00:00Z.`);
  return time.toISOString();
}

async function listKeys({ client, tenant }: TenantTarget, json: boolean, { stdout }: Output): Promise<void> {
  const { keys } = await client.admin.listKeys(tenant);
  if (json) return keys.forEach((key) => line(stdout, JSON.stringify(key)));
  if (keys.length === 0) return line(stdout, `Tenant ${tenant} has no keys. sheaf keys make -t ${tenant} creates one.`);
  line(
    stdout,
    table(
      ['key id', 'label', 'created', 'permits'],
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

async function revokeKey({ client, tenant }: TenantTarget, keyId: string, { stdout }: Output): Promise<void> {
  const { label } = await client.admin.revokeKey(tenant, keyId);
  line(stdout, `Key ${keyId} (${label}) of tenant ${tenant} is revoked.`);
}
