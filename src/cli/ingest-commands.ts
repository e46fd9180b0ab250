// The commands that send documents, with their options: ingest, demo.
// Called by program.ts, which runs them.
import { Option, type Command } from 'commander';
import { EXIT, examples, gathered, integerBetween, jsonObject, type CommandLine } from './command-line.js';
import { demo } from './demo.js';
import { UsageError } from './explain-error.js';
import { compileGlob } from './glob.js';
import { ingest } from './ingest.js';
import { ingestLines } from './ingest-lines.js';
import { ingestInput, STANDARD_INPUT } from './ingest-input.js';
import { targetOf, withTarget, type TargetFlags } from './target.js';

interface IngestFlags extends TargetFlags {
  concurrency: number;
  glob?: string[];
  nodeModules?: true;
  ndjson?: true;
  resume?: true;
  docid?: string;
  metadata?: Record<string, unknown>;
}

const AFTER = `
A document id is the path below the folder that holds all files asked for. --resume makes the same command go on after it was stopped, and
send only what has changed since: it leaves out what the server has and got after the file was last changed, by the clocks of both.
NDJSON has a document a line: {"docid": "a", "text": "…", "metadata": {"lang": "en"}}, or "vector" in place of "text".`;

export function addIngestCommands(cli: CommandLine): void {
  addIngest(cli);
  withTarget(cli.program.command('demo'), 'demo')
    .description('ingest every README.md below node_modules and run five searches')
    .argument('[folder]', 'where to look for README.md files', 'node_modules')
    .addOption(concurrencyOption())
    .action(async (folder: string, flags: IngestFlags) =>
      cli.ended(await demo(targetOf(flags, cli.env), folder, flags.concurrency, cli.output)),
    );
}

function addIngest(cli: CommandLine): Command {
  return withTarget(cli.program.command('ingest'))
    .description('send files, all files below folders, standard input or NDJSON to a running server')
    .argument('<path...>', `folders, files and patterns such as "docs/**/*.md"; ${STANDARD_INPUT} is standard input`)
    .option('--glob <pattern>', 'only files that match, such as "*.md" or "guide/**/*.txt"; may be repeated', gathered)
    .option('--node-modules', 'also enter folders named node_modules')
    .option('--ndjson', 'the files have a document a line, and are streamed')
    .option('--resume', 'leave out what the server has already')
    .option('--metadata <json>', 'fields that every document gets', jsonObject)
    .option('--docid <id>', 'id of the document that comes by standard input')
    .addOption(concurrencyOption())
    .addHelpText(
      'after',
      examples(
        'sheaf ingest ~/notes -c notes --resume',
        'sheaf ingest "docs/**/*.md" README.md -c manual',
        'pdftotext report.pdf - | sheaf ingest - --docid report -c reports',
        'zcat dump.ndjson.gz | sheaf ingest - --ndjson -c dump',
      ),
    )
    .addHelpText('after', AFTER)
    .action(async (roots: string[], flags: IngestFlags) => cli.ended(await run(cli, roots, flags)));
}

async function run({ env, output, stdin }: CommandLine, roots: string[], flags: IngestFlags): Promise<number> {
  const target = targetOf(flags, env);
  const { metadata, concurrency } = flags;
  const resume = flags.resume === true;
  if (flags.ndjson && (flags.docid ?? flags.glob) !== undefined)
    throw new UsageError(
      '--docid and --glob are for files: lines of NDJSON have their own docid, and none is left out.',
    );
  if (flags.ndjson) return ingestLines(target, { paths: roots, stdin, resume, metadata }, output);
  if (roots.includes(STANDARD_INPUT)) {
    if (roots.length > 1)
      throw new UsageError('Standard input is one document: it does not go with files. With --ndjson it may.');
    await ingestInput(target, stdin, { docid: flags.docid, metadata }, output);
    return EXIT.done;
  }
  if (flags.docid !== undefined)
    throw new UsageError('--docid names what comes by standard input; a file is named by its path.');
  const globs = (flags.glob ?? ['**']).map(compileGlob);
  const accepts = (id: string): boolean => globs.some((matches) => matches(id));
  const skipFolders = new Set(flags.nodeModules ? ['.git'] : ['.git', 'node_modules']);
  return ingest(target, { roots, accepts, skipFolders, concurrency, resume, metadata }, output);
}

const concurrencyOption = (): Option =>
  new Option('--concurrency <n>', 'files under way at a time').argParser(integerBetween(1, 256)).default(16);
