// The command line: commands in groups, shared help, exit codes, and the commands about this machine, which need no
// server. Modules that only one command needs are loaded on demand.
import { Argument, Command, CommanderError, Option } from 'commander';
import { PRECISIONS } from '../api/choices.js';
import { SERVICE_VERSION } from '../api/common.js';
import { AppError } from '../api/errors.js';
import { DIM_MAX } from '../api/limits.js';
import { SheafUnreachable } from '../client/errors.js';
import { UnaddressableId } from '../client/url.js';
import { addArchiveCommands } from './archive.js';
import type { Plan } from './capacity.js';
import { addAliasCommands, addCollectionCommands } from './collections.js';
import {
  type CommandLine,
  EXIT,
  URL_DEFAULT,
  examples,
  gathered,
  integerBetween,
  numberBetween,
} from './command-line.js';
import { SHELLS, type Shell, completionScript } from './completion.js';
import { addDocumentCommands } from './documents.js';
import { UsageError, explainError } from './errors.js';
import { addIngestCommands } from './ingest.js';
import { addClusterCommand } from './cluster.js';
import { addKeyCommands } from './keys.js';
import { type Input, type Output, line, outliveReader, styleOf } from './output.js';
import { addLogCommands } from './query-log.js';
import { addReindexCommands } from './reindex.js';
import { addSearchCommands } from './search.js';
import { addTopCommand } from './top.js';

export interface CliContext extends Partial<Output> {
  stdin?: Input;
  env: Record<string, string | undefined>;
  /** Replaces the serve command in tests. */
  serve?: CommandLine['serve'];
}

const FOOTER = `
Commands talk to the server that --url or SHEAF_URL names, else to ${URL_DEFAULT}, with the key from --key or SHEAF_API_KEY.
sheaf COMMAND --help shows options and examples; sheaf completion bash, zsh or fish prints a completion script.

Exit codes: ${EXIT.done} success; ${EXIT.failed} failure, even if only a part failed; ${EXIT.usage} invalid command line; ${EXIT.unreachable} no server answers; ${EXIT.interrupted} stopped by Ctrl-C.`;

/**
 * Runs one command line (`argv` as in process.argv) and resolves to the exit code. An expected error becomes one line
 * on stderr.
 */
export async function runCli(
  argv: readonly string[],
  { env, stdin = process.stdin, ...context }: CliContext,
): Promise<number> {
  const output = { stdout: context.stdout ?? process.stdout, stderr: context.stderr ?? process.stderr };
  const serve = context.serve ?? ((variables) => serveHere({ ...env, ...variables }, output));
  outliveReader(output.stdout);
  outliveReader(output.stderr);
  let exitCode: number = EXIT.done;
  const program = createProgram({ env, output, stdin, serve, ended: (code) => void (exitCode = code) });
  try {
    await program.parseAsync(argv);
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    const explanation = explainError(error);
    if (explanation === undefined) throw error;
    line(output.stderr, `sheaf: ${explanation}`);
    return exitCodeOf(error);
  }
}

function exitCodeOf(error: unknown): number {
  if (error instanceof SheafUnreachable) return EXIT.unreachable;
  const isMisused = error instanceof UsageError || error instanceof AppError || error instanceof UnaddressableId;
  return isMisused ? EXIT.usage : EXIT.failed;
}

function createProgram(context: Omit<CommandLine, 'program'>): Command {
  const { stdout, stderr } = context.output;
  const program = new Command('sheaf')
    .description('Multi-tenant text retrieval server')
    .version(SERVICE_VERSION)
    .exitOverride()
    .configureOutput({ writeOut: (text) => stdout.write(text), writeErr: (text) => stderr.write(text) })
    .addHelpText(
      'after',
      examples(
        'sheaf serve',
        'sheaf ingest ~/notes -c notes',
        "sheaf search 'what did we decide about backups' -c notes",
      ),
    )
    .addHelpText('after', FOOTER);
  const cli: CommandLine = { ...context, program };
  program.commandsGroup('Documents and searches:');
  for (const add of [
    addIngestCommands,
    addSearchCommands,
    addCollectionCommands,
    addAliasCommands,
    addDocumentCommands,
    addLogCommands,
  ])
    add(cli);
  program.commandsGroup('Operations:');
  for (const add of [addReindexCommands, addKeyCommands, addTopCommand, addClusterCommand, addArchiveCommands])
    add(cli);
  program.commandsGroup('This machine:');
  addMachineCommands(cli);
  return program;
}

/** The server is loaded on demand, so that other commands start faster. */
async function serveHere(env: CliContext['env'], { stdout }: Output): Promise<number> {
  const { compileMissingStore } = await import('../storage/lmdb-binding.js');
  if (!compileMissingStore()) return EXIT.failed;
  const { serve } = await import('./serve.js');
  return serve(env, (text) => line(stdout, text));
}

interface ServeFlags {
  config?: string;
  dataDir?: string;
  host?: string;
  port?: number;
}

const PORT_MAX = 65_535;

function addMachineCommands(cli: CommandLine): void {
  addServe(cli);
  addInit(cli);
  addDoctor(cli);
  addCapacity(cli);
  addCheck(cli);
  addCompletion(cli);
}

function addServe({ program, serve, ended }: CommandLine): void {
  program
    .command('serve')
    .description('start the server; configured by sheaf.yaml and SHEAF_… variables, which these options override')
    .option('--config <file>', 'configuration file; default: SHEAF_CONFIG, else sheaf.yaml')
    .option('--data-dir <folder>', 'folder of all stored data; default: ./data')
    .option('--host <address>', 'address to listen on; any other than loopback requires keys')
    .option('--port <n>', 'port to listen on; 0 chooses a free one', integerBetween(0, PORT_MAX))
    .addHelpText(
      'after',
      examples(
        'sheaf serve',
        'sheaf serve --port 9000 --data-dir /var/lib/sheaf',
        'SHEAF_AUTH__MODE=static sheaf serve --host 0.0.0.0',
        'sheaf init && sheaf serve',
      ),
    )
    .action(async (flags: ServeFlags) => ended(await serve(variablesOf(flags))));
}

function variablesOf({ config, dataDir, host, port }: ServeFlags): Record<string, string> {
  return {
    ...(config !== undefined && { SHEAF_CONFIG: config }),
    ...(dataDir !== undefined && { SHEAF_DATA_DIR: dataDir }),
    ...(host !== undefined && { SHEAF_SERVER__HOST: host }),
    ...(port !== undefined && { SHEAF_SERVER__PORT: String(port) }),
  };
}

function addInit({ program, output, ended }: CommandLine): void {
  program
    .command('init')
    .description('write a configuration file with the default and meaning of every key')
    .argument('[file]', 'the file to write', 'sheaf.yaml')
    .option('--set <key=value>', 'set a key to a value; may be repeated', gathered)
    .option('--force', 'replace an existing file')
    .addHelpText(
      'after',
      examples(
        'sheaf init',
        'sheaf init --set server.port=9000 --set auth.mode=static',
        'sheaf init /etc/sheaf.yaml && sheaf serve --config /etc/sheaf.yaml',
      ),
    )
    .action(async (file: string, { set = [], force }: { set?: string[]; force?: true }) => {
      const { init } = await import('./init.js');
      await init(file, { settings: set, replace: force === true }, output);
      ended(EXIT.done);
    });
}

function addDoctor({ program, env, output, ended }: CommandLine): void {
  program
    .command('doctor')
    .description(
      'check this machine for running a server: configuration, disk, memory, limits; exit code 1 if a server cannot run',
    )
    .option('--json', 'print one JSON finding per line')
    .addHelpText('after', examples('sheaf doctor', 'SHEAF_DATA_DIR=/var/lib/sheaf sheaf doctor'))
    .action(async ({ json }: { json?: true }) => {
      const { doctor } = await import('./doctor.js');
      ended(await doctor(env, { json: json === true, style: styleOf(output.stdout, env) }, output));
    });
}

const COUNT_MAX = 1e12;
/** Dimensions and query time of the built-in embedder (node dist/load/main.js embed builtin). */
const EMBEDDER_DEFAULT = { dim: 512, queryMs: 0.06 } as const;

interface CapacityFlags extends Omit<Plan, 'hybridShare' | 'terms'> {
  hybrid: number;
  terms?: number;
  json?: true;
}

function addCapacity({ program, output, ended }: CommandLine): void {
  const count = integerBetween(0, COUNT_MAX);
  program
    .command('capacity')
    .description('estimate the memory, disk and cores that a server needs, from measured figures')
    .requiredOption('--chunks <n>', 'number of chunks in all collections together', integerBetween(1, COUNT_MAX))
    .option('--dim <n>', 'dimensions of a vector', integerBetween(1, DIM_MAX), EMBEDDER_DEFAULT.dim)
    .addOption(
      new Option('--precision <name>', 'precision of the vectors in memory').choices(PRECISIONS).default('int16'),
    )
    .option('--words <n>', 'words per chunk; 0 if no search uses text ranking', count, 150)
    .option('--terms <n>', 'distinct terms of all texts; default: estimated for English texts of that length', count)
    .option('--metadata-bytes <n>', 'metadata of a document, as JSON', count, 200)
    .option('--unique-fields <n>', 'metadata fields whose value differs in nearly every document', count, 0)
    .option('--searches <n>', 'searches per second', numberBetween(0, COUNT_MAX), 10)
    .option('--hybrid <share>', 'share of hybrid searches, from 0 to 1', numberBetween(0, 1), 0.5)
    .option(
      '--embed-ms <n>',
      'CPU time of the embedder per query, in ms',
      numberBetween(0, COUNT_MAX),
      EMBEDDER_DEFAULT.queryMs,
    )
    .option('--writes <n>', 'chunks written per second', numberBetween(0, COUNT_MAX), 0)
    .option('--json', 'print JSON, in bytes and cores')
    .addHelpText(
      'after',
      examples(
        'sheaf capacity --chunks 1000000',
        'sheaf capacity --chunks 1000000 --dim 384 --words 200 --searches 200 --writes 20',
      ),
    )
    .action(async ({ json, hybrid, terms, ...plan }: CapacityFlags) => {
      const { capacity } = await import('./capacity.js');
      ended(capacity({ ...plan, terms, hybridShare: hybrid }, json === true, output));
    });
}

function addCheck({ program, output, ended }: CommandLine): void {
  const command = (name: 'check' | 'repair', description: string): void => {
    program
      .command(name)
      .description(description)
      .argument('<data_dir>', 'the data directory of a stopped server')
      .addHelpText('after', examples(`sheaf ${name} ./data`))
      .action(async (path: string) => {
        const commands = await import('./check.js');
        ended(await commands[name](path, output));
      });
  };
  command('check', 'check a data directory for damage; exit code 1 if there is any, 2 if it cannot be checked');
  command('repair', 'repair a data directory as far as possible, and list what is lost');
}

function addCompletion({ program, output }: CommandLine): void {
  program
    .command('completion')
    .description('print a shell script that completes commands, options and their values')
    .addArgument(new Argument('<shell>').choices([...SHELLS]))
    .addHelpText(
      'after',
      examples(
        'source <(sheaf completion bash)                  # in ~/.bashrc',
        'source <(sheaf completion zsh)                   # in ~/.zshrc',
        'sheaf completion fish > ~/.config/fish/completions/sheaf.fish',
      ),
    )
    .action((shell: Shell) => line(output.stdout, completionScript(program, shell)));
}
