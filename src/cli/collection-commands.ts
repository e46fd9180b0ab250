// The command `collections` and what it can do, with their options.
// Called by program.ts, which runs them.
import { Option, type Command } from 'commander';
import { LANGUAGES } from '../contract/language.js';
import { CHUNK_SIZE_MAX, CHUNK_SIZE_MIN, DIM_MAX } from '../contract/limits.js';
import { PRECISIONS } from '../contract/precision.js';
import { SEARCH_MODES } from '../contract/resources.js';
import {
  createCollection,
  deleteCollection,
  listCollections,
  renameCollection,
  showCollection,
  type CreateFlags,
} from './collections.js';
import { examples, integerBetween, type CommandLine } from './command-line.js';
import { targetOf, tenantOf, withTenant, type TenantFlags } from './target.js';

export function addCollectionCommands({ program, env, output }: CommandLine): void {
  const collections = program
    .command('collections')
    .description('list, show, make, rename and delete collections')
    .addHelpText(
      'after',
      examples(
        'sheaf collections list',
        'sheaf collections create notes --language german --mode hybrid',
        'sheaf collections create vectors --dim 384',
        'sheaf collections rename notes archive',
        'sheaf collections delete archive --yes',
      ),
    );
  withTenant(collections.command('list', { isDefault: true }))
    .description('names and embedders of the collections of a tenant')
    .option('--json', 'print JSON, a collection a line')
    .action((flags: TenantFlags & { json?: true }) =>
      listCollections(tenantOf(flags, env), flags.json === true, output),
    );
  withTenant(collections.command('show').argument('<name>'))
    .description('settings and counts of a collection, as JSON')
    .action((name: string, flags: TenantFlags) =>
      showCollection(targetOf({ ...flags, collection: name }, env), output),
    );
  withSettings(withTenant(collections.command('create').argument('<name>')))
    .description('make a collection; ingest makes one by itself, with the settings of the server')
    .action((name: string, flags: TenantFlags & CreateFlags) =>
      createCollection(targetOf({ ...flags, collection: name }, env), flags, output),
    );
  withTenant(collections.command('rename').argument('<name>').argument('<new_name>'))
    .description('give a collection another name')
    .action((name: string, newName: string, flags: TenantFlags) =>
      renameCollection(targetOf({ ...flags, collection: name }, env), newName, output),
    );
  withTenant(collections.command('delete').argument('<name>'))
    .description('delete a collection with all of its documents')
    .option('--yes', 'really')
    .action((name: string, flags: TenantFlags & { yes?: true }) =>
      deleteCollection(targetOf({ ...flags, collection: name }, env), flags.yes === true, output),
    );
}

function withSettings(command: Command): Command {
  return command
    .option('--display-name <text>', 'a name for people')
    .option('--embedder <selector>', 'an instance key, a type, type:model, or a vector-space key')
    .option('--dim <n>', 'vectors of your own, of this length', integerBetween(1, DIM_MAX))
    .addOption(new Option('--mode <mode>', 'how searches rank that do not say').choices([...SEARCH_MODES]))
    .addOption(new Option('--language <language>', 'by whose words it is ranked').choices([...LANGUAGES]))
    .addOption(new Option('--precision <precision>', 'int8 takes less memory').choices([...PRECISIONS]))
    .option('--chunk-size <n>', 'characters of a chunk', integerBetween(CHUNK_SIZE_MIN, CHUNK_SIZE_MAX))
    .option('--chunk-overlap <n>', 'characters shared with the chunk before', integerBetween(0, CHUNK_SIZE_MAX))
    .option('--no-chunking', 'each text is one chunk')
    .option('--priority-key <key>', 'the metadata field that lifts or lowers hits');
}
