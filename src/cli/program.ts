// The command line: commands, options, exit codes. Called by main, which passes in the serve command and the environment;
// the other commands talk to a running server through src/client.
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { K_MAX } from '../contract/limits.js';
import type { SearchMode } from '../contract/resources.js';
import { SERVICE_VERSION } from '../contract/version.js';
import { addArchiveCommands } from './archive-commands.js';
import { check, repair } from './check.js';
import { demo } from './demo.js';
import { explainError } from './explain-error.js';
import { compileGlob } from './glob.js';
import { ingest } from './ingest.js';
import { line, outliveReader, type Output } from './output.js';
import { search } from './search.js';
import { targetOf, withTarget, type TargetFlags } from './target.js';

export interface CliContext extends Partial<Output> {
  env: Record<string, string | undefined>;
  /** The serve command; resolves with its exit code once the server has stopped. */
  serve: () => Promise<number>;
}

interface IngestFlags extends TargetFlags {
  concurrency: number;
  glob?: string[];
  nodeModules?: true;
}

interface SearchFlags extends TargetFlags {
  k: number;
  json?: true;
  mode?: SearchMode;
}

interface Cli {
  program: Command;
  context: CliContext;
  output: Output;
  /** Set by the command that ran. */
  exitCode: number;
}

/** Runs one command line (`argv` as in process.argv) and resolves with the exit code. Expected errors become one line on stderr. */
export async function runCli(argv: readonly string[], context: CliContext): Promise<number> {
  const output = { stdout: context.stdout ?? process.stdout, stderr: context.stderr ?? process.stderr };
  outliveReader(output.stdout);
  outliveReader(output.stderr);
  const cli: Cli = { program: createProgram(output), context, output, exitCode: 0 };
  addServe(cli);
  addIngest(cli);
  addSearch(cli);
  addDemo(cli);
  addArchiveCommands({ program: cli.program, env: context.env, output, ended: (code) => void (cli.exitCode = code) });
  addCheck(cli);
  try {
    await cli.program.parseAsync(argv);
    return cli.exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode;
    const explanation = explainError(error);
    if (explanation === undefined) throw error;
    line(output.stderr, `sheaf: ${explanation}`);
    return 1;
  }
}

function createProgram({ stdout, stderr }: Output): Command {
  return new Command('sheaf')
    .description('Multi-tenant text retrieval server')
    .version(SERVICE_VERSION)
    .exitOverride()
    .configureOutput({ writeOut: (text) => stdout.write(text), writeErr: (text) => stderr.write(text) });
}

function addServe(cli: Cli): void {
  cli.program
    .command('serve')
    .description('start the server; configured by sheaf.yaml and SHEAF_… variables')
    .action(async () => void (cli.exitCode = await cli.context.serve()));
}

function addIngest(cli: Cli): void {
  withTarget(cli.program.command('ingest'), 'docs')
    .description('send text files, or all text files below folders, to a running server')
    .argument('<path...>', 'folders and files; a document id is the path below the folder that holds them all')
    .option('--glob <pattern>', 'only files that match, such as "*.md" or "guide/**/*.txt"; may be repeated', (pattern, before: string[] = []) => [...before, pattern])
    .option('--node-modules', 'also enter folders named node_modules')
    .addOption(concurrencyOption())
    .action(async (roots: string[], flags: IngestFlags) => {
      const globs = (flags.glob ?? ['**']).map(compileGlob);
      const accepts = (id: string): boolean => globs.some((matches) => matches(id));
      const skipFolders = new Set(flags.nodeModules ? ['.git'] : ['.git', 'node_modules']);
      cli.exitCode = await ingest(targetOf(flags, cli.context.env), { roots, accepts, skipFolders, concurrency: flags.concurrency }, cli.output);
    });
}

function addSearch(cli: Cli): void {
  withTarget(cli.program.command('search'), 'docs')
    .description('search a collection')
    .argument('<query>', 'what to look for')
    .option('-k, --k <n>', 'hits to show', integerBetween(1, K_MAX), 5)
    .option('--json', 'print the whole answer as JSON')
    .addOption(new Option('--mode <mode>', 'ranking mode; default: the one of the collection').choices(['vector', 'boost', 'hybrid']))
    .action(async (query: string, flags: SearchFlags) => {
      await search(targetOf(flags, cli.context.env), query, { k: flags.k, json: flags.json === true, mode: flags.mode }, cli.output);
    });
}

function addDemo(cli: Cli): void {
  withTarget(cli.program.command('demo'), 'demo')
    .description('ingest every README.md below node_modules and run five searches')
    .argument('[folder]', 'where to look for README.md files', 'node_modules')
    .addOption(concurrencyOption())
    .action(async (folder: string, flags: IngestFlags) => {
      cli.exitCode = await demo(targetOf(flags, cli.context.env), folder, flags.concurrency, cli.output);
    });
}

function addCheck(cli: Cli): void {
  const command = (name: string, description: string, run: typeof check): void => {
    cli.program
      .command(name)
      .description(description)
      .argument('<data_dir>', 'the data directory of a stopped server')
      .action(async (path: string) => void (cli.exitCode = await run(path, cli.output)));
  };
  command('check', 'look for damage in a data directory; exit code 1 where there is any', check);
  command('repair', 'mend a data directory as far as possible, and name what is lost', repair);
}

const concurrencyOption = (): Option => new Option('--concurrency <n>', 'files under way at a time').argParser(integerBetween(1, 256)).default(16);

function integerBetween(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (Number.isInteger(value) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Give a whole number from ${min} to ${max}.`);
  };
}
