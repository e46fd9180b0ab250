// Which server, tenant and collection a command works on: the options that commands share, and what they mean.
// Called by the *-commands.ts beside it.
import type { Command } from 'commander';
import { SheafClient } from '../client/client.js';
import { asCollectionName, asTenant } from '../contract/ids.js';
import { UsageError } from './explain-error.js';

interface ServerFlags {
  url?: string;
  key?: string;
}

export interface TenantFlags extends ServerFlags {
  tenant: string;
}

export interface TargetFlags extends TenantFlags {
  collection: string;
}

export interface TenantTarget {
  client: SheafClient;
  /** Of what the client is made. */
  access: { url: string; key: string | undefined };
  tenant: string;
}

export interface Target extends TenantTarget {
  collection: string;
}

type Env = Record<string, string | undefined>;

const URL_DEFAULT = 'http://127.0.0.1:8080';

const withServer = (command: Command): Command =>
  command
    .option('--url <url>', `address of the server; default: SHEAF_URL, else ${URL_DEFAULT}`)
    .option('--key <key>', 'API key; default: SHEAF_API_KEY');

export const withTenant = (command: Command): Command =>
  withServer(command.option('-t, --tenant <name>', 'tenant', 'default'));

export const withTarget = (command: Command, collection = 'docs'): Command =>
  withTenant(command.option('-c, --collection <name>', 'collection', collection));

/** Throws UsageError for an address that is none, or a key. */
function serverOf({ url, key }: ServerFlags, env: Env): Pick<TenantTarget, 'client' | 'access'> {
  const access = { url: url ?? env['SHEAF_URL'] ?? URL_DEFAULT, key: key ?? env['SHEAF_API_KEY'] };
  try {
    return { client: new SheafClient(access), access };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new UsageError(`${error.message} Give --url as http://HOST:PORT, and --key as it was made.`);
  }
}

/** Throws UsageError for an address that is none, AppError for a bad tenant name. */
export const tenantOf = (flags: TenantFlags, env: Env): TenantTarget => ({
  ...serverOf(flags, env),
  tenant: asTenant(flags.tenant),
});

/** Throws UsageError for an address that is none, AppError for a bad tenant or collection name. */
export const targetOf = (flags: TargetFlags, env: Env): Target => ({
  ...tenantOf(flags, env),
  collection: asCollectionName(flags.collection),
});
