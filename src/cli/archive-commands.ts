// The commands about archives, with their options: archive, restore, import.
// Called by program.ts, which runs them.
import type { Command } from 'commander';
import { archive, restore, type ArchiveTarget, type RestoreFlags } from './archive.js';
import { importPaveDb } from './import.js';
import type { Output } from './output.js';
import { targetOf, withTarget, type TargetFlags } from './target.js';

export interface ArchiveCli {
  program: Command;
  env: Record<string, string | undefined>;
  output: Output;
  /** Told the exit code of the command that ran. */
  ended: (exitCode: number) => void;
}

interface ImportOptions extends TargetFlags {
  embedder?: string;
  replace?: true;
}

interface Flags {
  url: string;
  key?: string;
  tenant: string;
  collection?: string;
  replace?: true;
  dryRun?: true;
}

export function addArchiveCommands({ program, env, output, ended }: ArchiveCli): void {
  withWhole(program.command('archive'))
    .description('write an archive of a collection, or of everything, into a file; fails where collections had to be left out')
    .argument('<file>', 'where it goes')
    .action(async (file: string, flags: Flags) => ended(await archive(wholeOf(flags, env), file, output)));
  withWhole(program.command('restore'))
    .description('restore a collection, or everything, from an archive')
    .argument('<file>', 'the archive')
    .option('--replace', 'in place of what is there')
    .option('--dry-run', 'only verify the archive')
    .action(async (file: string, flags: Flags) => ended(await restore(wholeOf(flags, env), file, restoreFlags(flags), output)));
  withTarget(program.command('import'), 'docs')
    .description('bring a collection archive of PaveDB 0.9.7 over, with documents, vectors and log; nothing is embedded anew')
    .argument('<file>', 'the archive')
    .option('--embedder <selector>', 'the embedder of the server that the vectors are of; default: type:model, as PaveDB names it')
    .option('--replace', 'in place of a collection that is there')
    .action(async (file: string, flags: ImportOptions) => ended(await importPaveDb(targetOf(flags, env), file, { embedder: flags.embedder, replace: flags.replace === true }, output)));
}

function withWhole(command: Command): Command {
  return command
    .option('-c, --collection <name>', 'collection; without it everything, which wants the admin key')
    .option('-t, --tenant <name>', 'tenant', 'default')
    .option('--url <url>', 'address of the server', 'http://127.0.0.1:8080')
    .option('--key <key>', 'API key; default: SHEAF_API_KEY');
}

const restoreFlags = ({ replace, dryRun }: Flags): RestoreFlags => ({ replace: replace === true, dryRun: dryRun === true });

function wholeOf(flags: Flags, env: Record<string, string | undefined>): ArchiveTarget {
  const { client, tenant, collection } = targetOf({ ...flags, collection: flags.collection ?? 'everything' }, env);
  return { client, collection: flags.collection === undefined ? undefined : { tenant, name: collection } };
}
