// The command `docs` and what it can do, with their options.
// Called by program.ts, which runs them.
import { examples, integerBetween, type CommandLine } from './command-line.js';
import { deleteDocuments, listDocuments, showChunks, showDocument } from './documents.js';
import { targetOf, withTarget, type TargetFlags } from './target.js';

const LIMIT_MAX = 1_000_000_000;

type JsonFlags = TargetFlags & { json?: true };

export function addDocumentCommands({ program, env, output, ended }: CommandLine): void {
  const docs = program
    .command('docs')
    .description('list, show and delete documents of a collection')
    .addHelpText(
      'after',
      examples(
        'sheaf docs list -c notes',
        'sheaf docs show guide.md -c notes',
        'sheaf docs chunks guide.md -c notes',
        'sheaf docs delete guide.md old.md -c notes',
      ),
    );
  withTarget(docs.command('list', { isDefault: true }))
    .description('documents by id, with version, chunks and time')
    .option('-n, --limit <n>', 'how many; default: all', integerBetween(1, LIMIT_MAX))
    .option('--json', 'print JSON, a document a line')
    .action((flags: JsonFlags & { limit?: number }) =>
      listDocuments(targetOf(flags, env), { limit: flags.limit ?? Infinity, json: flags.json === true }, output),
    );
  withTarget(docs.command('show').argument('<docid>'))
    .description('what is known of a document, as JSON')
    .action((docid: string, flags: TargetFlags) => showDocument(targetOf(flags, env), docid, output));
  withTarget(docs.command('chunks').argument('<docid>'))
    .description('the chunks of a document, with their texts')
    .option('--json', 'print JSON, a chunk a line')
    .action((docid: string, flags: JsonFlags) => showChunks(targetOf(flags, env), docid, flags.json === true, output));
  withTarget(docs.command('delete').argument('<docid...>'))
    .description('delete documents; exit code 1 where one was not there')
    .action(async (docids: string[], flags: TargetFlags) =>
      ended(await deleteDocuments(targetOf(flags, env), docids, output)),
    );
}
