// The command `keys` and what it can do, with their options. All of it wants the admin key.
// Called by program.ts, which runs them.
import { Option, type Command } from 'commander';
import { SCOPES, type Scope } from '../contract/tenants.js';
import { examples, gathered, type CommandLine } from './command-line.js';
import { filterWord, type Filters } from './filter-words.js';
import { listKeys, makeKey, revokeKey } from './keys.js';
import { tenantOf, withTenant, type TenantFlags } from './target.js';

interface MakeFlags extends TenantFlags {
  label?: string;
  scope?: Scope[];
  only?: string[];
  filter?: Filters;
  expires?: string;
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
    .description('make, list and revoke the keys of a tenant; wants the admin key')
    .addHelpText('after', EXAMPLES);
  addMake(keys, cli);
  withTenant(keys.command('list', { isDefault: true }))
    .description('keys of a tenant, revoked ones included')
    .option('--json', 'print JSON, a key a line')
    .action((flags: TenantFlags & { json?: true }) => listKeys(tenantOf(flags, env), flags.json === true, output));
  withTenant(keys.command('revoke').argument('<key_id>'))
    .description('make a key good for nothing from now on')
    .action((keyId: string, flags: TenantFlags) => revokeKey(tenantOf(flags, env), keyId, output));
}

function addMake(keys: Command, { env, output }: CommandLine): void {
  withTenant(keys.command('make'))
    .description('make a key; it is printed this once, alone on standard output')
    .option('--label <text>', 'for people and the search log')
    .addOption(new Option('--scope <scope...>', 'what it is for; default: everything').choices([...SCOPES]))
    .option('--only <collection>', 'a collection that it sees; may be repeated; default: all', gathered)
    .option(
      '--filter <field=value>',
      'holds for all of its searches, and it may do nothing else; may be repeated',
      filterWord,
    )
    .option('--expires <time>', 'when it stops being good, such as 2027-01-01 or 2027-01-01T12:00:00Z')
    .option('--new-tenant', 'make the tenant as well')
    .option('--json', 'print all of it as JSON')
    .action(({ label, scope, only, filter, expires, newTenant, json, ...flags }: MakeFlags) => {
      const body = { label, scopes: scope, collections: only, filters: filter, expires };
      return makeKey(tenantOf(flags, env), { body, newTenant: newTenant === true, json: json === true }, output);
    });
}
