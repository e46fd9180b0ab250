// The commands about archives, with their options: archive, restore, import.
// Called by program.ts, which runs them.
import type { Command } from 'commander';
import { archive, restore, type ArchiveTarget, type RestoreFlags } from './archive.js';
import { examples, type CommandLine } from './command-line.js';
import { targetOf, tenantOf, withTarget, withTenant, type TargetFlags } from './target.js';

interface ImportOptions extends TargetFlags {
  embedder?: string;
  replace?: true;
}

interface Flags extends Omit<TargetFlags, 'collection'> {
  collection?: string;
  replace?: true;
  dryRun?: true;
  from?: string;
}

export function addArchiveCommands({ program, env, output, ended }: CommandLine): void {
  withWhole(program.command('archive'))
    .description(
      'write an archive of a collection, or of everything, into a file; fails where collections had to be left out',
    )
    .argument('<file>', 'where it goes')
    .option('--force', 'in place of a file that is there')
    .addHelpText(
      'after',
      examples(
        'sheaf archive backup.zip                 # everything, with the admin key',
        'sheaf archive docs.zip -c docs -t acme',
      ),
    )
    .action(async (file: string, flags: Flags & { force?: true }) =>
      ended(await archive(wholeOf(flags, env), file, flags.force === true, output)),
    );
  withWhole(program.command('restore'))
    .description('restore a collection, or everything, from an archive')
    .argument('<file>', 'the archive')
    .option('--replace', 'in place of what is there')
    .option('--dry-run', 'only verify the archive')
    .option(
      '--from <collection>',
      'the collection to take out of an archive of everything: TENANT/NAME, or a name of the same tenant; default: the one that --tenant and --collection name',
    )
    .addHelpText(
      'after',
      examples(
        'sheaf restore backup.zip --dry-run',
        'sheaf restore backup.zip --replace',
        'sheaf restore docs.zip -c docs-of-monday -t acme',
        'sheaf restore backup.zip -c docs -t acme --replace   # one collection out of everything',
        'sheaf restore backup.zip -c docs-of-monday -t acme --from acme/docs',
      ),
    )
    .action(async (file: string, flags: Flags) =>
      ended(await restore(wholeOf(flags, env), file, restoreFlags(flags), output)),
    );
  withTarget(program.command('import'))
    .description(
      'bring a collection archive of PaveDB 0.9.7 over, with documents, vectors and log; nothing is embedded anew',
    )
    .argument('<file>', 'the archive')
    .option(
      '--embedder <selector>',
      'the embedder of the server that the vectors are of; default: type:model, as PaveDB names it',
    )
    .option('--replace', 'in place of a collection that is there')
    .addHelpText('after', examples('sheaf import docs.zip -c docs -t acme'))
    .action(async (file: string, flags: ImportOptions) => {
      // It reads SQLite, which other commands need not wait for.
      const { importPaveDb } = await import('./import.js');
      ended(
        await importPaveDb(
          targetOf(flags, env),
          file,
          { embedder: flags.embedder, replace: flags.replace === true },
          output,
        ),
      );
    });
}

function withWhole(command: Command): Command {
  return withTenant(
    command.option('-c, --collection <name>', 'collection; without it everything, which wants the admin key'),
  );
}

const restoreFlags = ({ replace, dryRun, from }: Flags): RestoreFlags => ({
  from,
  replace: replace === true,
  dryRun: dryRun === true,
});

function wholeOf(flags: Flags, env: Record<string, string | undefined>): ArchiveTarget {
  const { collection: name } = flags;
  if (name === undefined) return { client: tenantOf(flags, env).client, collection: undefined };
  const { client, tenant, collection } = targetOf({ ...flags, collection: name }, env);
  return { client, collection: { tenant, name: collection } };
}
