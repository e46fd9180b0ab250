// `sheaf collections` and `sheaf aliases`: list, show, create, rename and delete collections, their synonyms and their
// further names.
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { CreateBody, SynonymRule } from '../api/collections.js';
import {
  CHUNKING_STRATEGIES,
  type ChunkingStrategy,
  type Language,
  LANGUAGES,
  type Precision,
  PRECISIONS,
  SEARCH_MODES,
} from '../api/choices.js';
import { CHUNK_SIZE_MAX, CHUNK_SIZE_MIN, DIM_MAX, SHARDS_MAX, TTL_MAX_S } from '../api/limits.js';
import {
  type CommandLine,
  type Target,
  type TenantFlags,
  type TenantTarget,
  examples,
  integerBetween,
  targetOf,
  tenantOf,
  withTenant,
} from './command-line.js';
import { UsageError } from './errors.js';
import { type Output, count, line, ownFields, table } from './output.js';

export function addCollectionCommands({ program, env, output }: CommandLine): void {
  const collections = program
    .command('collections')
    .description('list, show, create, rename and delete collections')
    .addHelpText(
      'after',
      examples(
        'sheaf collections list',
        'sheaf collections create notes --language german --mode hybrid',
        'sheaf collections create vectors --dim 384',
        'sheaf collections rename notes archive',
        `sheaf collections synonyms notes '[{"words":["car","automobile"]},{"words":["boat"],"to":["dinghy"]}]'`,
        'sheaf collections delete archive --yes',
      ),
    );
  withTenant(collections.command('list', { isDefault: true }))
    .description('list names and embedders of the collections of a tenant')
    .option('--json', 'print one collection per line, as JSON')
    .action((flags: TenantFlags & { json?: true }) =>
      listCollections(tenantOf(flags, env), flags.json === true, output),
    );
  withTenant(collections.command('show').argument('<name>'))
    .description('show settings and counts of a collection, as JSON')
    .action((name: string, flags: TenantFlags) =>
      showCollection(targetOf({ ...flags, collection: name }, env), output),
    );
  withSettings(withTenant(collections.command('create').argument('<name>')))
    .description('create a collection; ingest creates a missing one with the default settings of the server')
    .action((name: string, flags: TenantFlags & CreateFlags) =>
      createCollection(targetOf({ ...flags, collection: name }, env), flags, output),
    );
  withTenant(collections.command('synonyms').argument('<name>').argument('[rules]', 'a JSON array', rulesOf))
    .description('show the synonyms of a collection, or replace all of them')
    .action((name: string, rules: SynonymRule[] | undefined, flags: TenantFlags) =>
      changeSynonyms(targetOf({ ...flags, collection: name }, env), rules, output),
    );
  withTenant(collections.command('rename').argument('<name>').argument('<new_name>'))
    .description('rename a collection')
    .action((name: string, newName: string, flags: TenantFlags) =>
      renameCollection(targetOf({ ...flags, collection: name }, env), newName, output),
    );
  withTenant(collections.command('delete').argument('<name>'))
    .description('delete a collection with all of its documents')
    .option('--yes', 'confirm the deletion')
    .action((name: string, flags: TenantFlags & { yes?: true }) =>
      deleteCollection(targetOf({ ...flags, collection: name }, env), flags.yes === true, output),
    );
}

export function addAliasCommands({ program, env, output: { stdout } }: CommandLine): void {
  const aliases = program
    .command('aliases')
    .description('list, set and delete aliases, which are further names of collections')
    .addHelpText(
      'after',
      examples('sheaf aliases list', 'sheaf aliases set current notes-2', 'sheaf aliases delete current'),
    );
  withTenant(aliases.command('list', { isDefault: true }))
    .description('list the aliases of a tenant with their collections')
    .option('--json', 'print one alias per line, as JSON')
    .action(async (flags: TenantFlags & { json?: true }) => {
      const { client, tenant } = tenantOf(flags, env);
      const { aliases: found } = await client.listAliases(tenant);
      if (flags.json) for (const alias of found) line(stdout, JSON.stringify(alias));
      else if (found.length === 0) line(stdout, `Tenant ${tenant} has no aliases.`);
      else
        line(
          stdout,
          table(
            ['alias', 'collection'],
            found.map(({ alias, collection }) => [alias, collection]),
          ),
        );
    });
  withTenant(aliases.command('set').argument('<alias>').argument('<collection>'))
    .description('create an alias, or switch it to another collection in one step')
    .action(async (alias: string, collection: string, flags: TenantFlags) => {
      const { client, tenant } = tenantOf(flags, env);
      await client.putAlias(tenant, alias, collection);
      line(stdout, `${tenant}/${alias} stands for ${tenant}/${collection} now.`);
    });
  withTenant(aliases.command('delete').argument('<alias>'))
    .description('delete an alias; its collection stays')
    .action(async (alias: string, flags: TenantFlags) => {
      const { client, tenant } = tenantOf(flags, env);
      await client.deleteAlias(tenant, alias);
      line(stdout, `${tenant}/${alias} is deleted.`);
    });
}

function withSettings(command: Command): Command {
  return command
    .option('--display-name <text>', 'name to show to people')
    .option('--embedder <selector>', 'embedder: its key, a type, type:model, or a vector-space key')
    .option('--dim <n>', 'store your own vectors with this number of dimensions', integerBetween(1, DIM_MAX))
    .addOption(new Option('--mode <mode>', 'default ranking mode of searches').choices([...SEARCH_MODES]))
    .addOption(new Option('--language <language>', 'language for stemming and stop words').choices([...LANGUAGES]))
    .addOption(
      new Option('--precision <precision>', 'precision of the vectors in memory; int8 takes less of it').choices([
        ...PRECISIONS,
      ]),
    )
    .option('--ttl <seconds>', 'documents are gone after this time, unless they name one', integerBetween(1, TTL_MAX_S))
    .option('--partitions <n>', 'number of shards over which the collection is spread', integerBetween(1, SHARDS_MAX))
    .addOption(
      new Option('--chunking <strategy>', 'how texts are cut into chunks').choices(
        CHUNKING_STRATEGIES.filter((strategy) => strategy !== 'none'),
      ),
    )
    .option('--chunk-size <n>', 'characters per chunk at most', integerBetween(CHUNK_SIZE_MIN, CHUNK_SIZE_MAX))
    .option('--chunk-overlap <n>', 'characters shared with the previous chunk', integerBetween(0, CHUNK_SIZE_MAX))
    .option('--no-chunking', 'each text is one chunk')
    .option('--priority-key <key>', 'metadata field that raises or lowers the score of hits');
}

interface CreateFlags {
  displayName?: string;
  embedder?: string;
  dim?: number;
  mode?: string;
  language?: Language;
  precision?: Precision;
  ttl?: number;
  partitions?: number;
  chunkSize?: number;
  chunkOverlap?: number;
  /** A strategy; false for `none`. */
  chunking?: ChunkingStrategy | false;
  priorityKey?: string;
}

async function listCollections({ client, tenant }: TenantTarget, json: boolean, { stdout }: Output): Promise<void> {
  const rows: string[][] = [];
  for await (const collection of client.eachCollection(tenant)) {
    if (json) line(stdout, JSON.stringify(collection));
    else
      rows.push([
        collection.name,
        collection.embedder_label ?? '',
        collection.display_name === collection.name ? '' : (collection.display_name ?? ''),
      ]);
  }
  if (!json)
    line(
      stdout,
      rows.length === 0
        ? `Tenant ${tenant} has no collections. sheaf ingest creates one.`
        : table(['name', 'embedder', 'label'], rows),
    );
}

async function showCollection({ client, tenant, collection }: Target, { stdout }: Output): Promise<void> {
  const detail = ownFields(await client.collectionDetail(tenant, collection));
  line(stdout, JSON.stringify(detail, null, 2));
}

async function createCollection(
  { client, tenant, collection }: Target,
  flags: CreateFlags,
  { stdout }: Output,
): Promise<void> {
  const { embed_model, embedder_type } = await client.createCollection(tenant, collection, createBody(flags));
  line(
    stdout,
    `${tenant}/${collection} is there, with ${flags.dim === undefined ? `the embedder ${embedder_type}:${embed_model}` : `vectors of ${flags.dim} numbers`}.`,
  );
}

function createBody({
  displayName,
  embedder,
  dim,
  mode,
  language,
  precision,
  ttl,
  partitions,
  chunkSize,
  chunkOverlap,
  chunking,
  priorityKey,
}: CreateFlags): CreateBody {
  if (dim !== undefined && embedder !== undefined)
    throw new UsageError('--dim is for your own vectors, --embedder for texts: use only one of them.');
  const size =
    chunkSize === undefined && chunkOverlap === undefined ? undefined : { size: chunkSize, overlap: chunkOverlap };
  if (chunking === false && size)
    throw new UsageError('--no-chunking cannot be combined with a chunk size or overlap.');
  return {
    ...(dim !== undefined && { embedder_type: 'identity', embedder_config: { dim } }),
    display_name: displayName,
    embedder,
    search_mode: mode,
    language,
    precision,
    ttl,
    partitions,
    priority_key: priorityKey,
    chunking: chunking === false ? { strategy: 'none' } : (chunking ?? size) && { strategy: chunking, ...size },
  };
}

async function renameCollection(
  { client, tenant, collection }: Target,
  newName: string,
  { stdout }: Output,
): Promise<void> {
  await client.moveCollection(tenant, collection, newName);
  line(stdout, `${tenant}/${collection} is ${tenant}/${newName} now.`);
}

/** The server checks the rules. */
function rulesOf(text: string): SynonymRule[] {
  try {
    const rules: unknown = JSON.parse(text);
    if (Array.isArray(rules)) return rules as SynonymRule[];
  } catch {
    // Reported below, like JSON that is not an array.
  }
  throw new InvalidArgumentError('Give a JSON array, such as \'[{"words":["car","automobile"]}]\'.');
}

async function changeSynonyms(
  { client, tenant, collection }: Target,
  rules: SynonymRule[] | undefined,
  { stdout }: Output,
): Promise<void> {
  if (!rules) {
    const { synonyms = [] } = await client.collectionDetail(tenant, collection);
    for (const rule of synonyms) line(stdout, JSON.stringify(rule));
    return;
  }
  await client.updateCollection(tenant, collection, { synonyms: rules });
  line(stdout, `${tenant}/${collection} has ${count(rules.length, 'synonym rule')}.`);
}

async function deleteCollection(
  { client, tenant, collection }: Target,
  isSure: boolean,
  { stdout }: Output,
): Promise<void> {
  const { doc_count: documents } = await client.collectionDetail(tenant, collection);
  if (!isSure)
    throw new UsageError(
      `${tenant}/${collection} has ${count(documents, 'document')}: confirm with --yes to delete it with all of them.`,
    );
  await client.deleteCollection(tenant, collection);
  line(stdout, `${tenant}/${collection} is deleted, with ${count(documents, 'document')}.`);
}
