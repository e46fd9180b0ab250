// The command line: its commands in groups, what all of them share in their help, and exit codes. Called by main, which
// passes in the serve command and the environment; the other commands talk to a running server through src/client.
import { Command, CommanderError } from 'commander';
import { SheafUnreachable } from '../client/errors.js';
import { UnaddressableId } from '../client/url.js';
import { AppError } from '../contract/errors.js';
import { SERVICE_VERSION } from '../contract/version.js';
import { addArchiveCommands } from './archive-commands.js';
import { addCollectionCommands } from './collection-commands.js';
import { EXIT, examples, type CommandLine } from './command-line.js';
import { addDocumentCommands } from './document-commands.js';
import { explainError, UsageError } from './explain-error.js';
import { addIngestCommands } from './ingest-commands.js';
import { addKeyCommands } from './key-commands.js';
import { addLogCommands } from './log-commands.js';
import { addMachineCommands } from './machine-commands.js';
import { line, outliveReader, type Input, type Output } from './output.js';
import { addReindexCommands } from './reindex-commands.js';
import { addSearchCommands } from './search-commands.js';

export interface CliContext extends Partial<Output> {
  stdin?: Input;
  env: Record<string, string | undefined>;
  /**
   * The serve command, with variables over those of the environment; resolves with its exit code once the server has
   * stopped.
   */
  serve: (variables: Record<string, string>) => Promise<number>;
}

const FOOTER = `
Commands talk to the server that --url or SHEAF_URL names, else to http://127.0.0.1:8080, with the key of --key or SHEAF_API_KEY.
sheaf COMMAND --help shows options and examples; sheaf completion bash, zsh or fish prints a completion script.

Exit codes: ${EXIT.done} done; ${EXIT.failed} failed, or some of it did; ${EXIT.usage} the command line is wrong; ${EXIT.unreachable} no server answers; 130 stopped by Ctrl-C.`;

/**
 * Runs one command line (`argv` as in process.argv) and resolves with the exit code. Expected errors become one line on
 * stderr.
 */
export async function runCli(
  argv: readonly string[],
  { env, serve, stdin = process.stdin, ...streams }: CliContext,
): Promise<number> {
  const output = { stdout: streams.stdout ?? process.stdout, stderr: streams.stderr ?? process.stderr };
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
  for (const add of [addIngestCommands, addSearchCommands, addCollectionCommands, addDocumentCommands, addLogCommands])
    add(cli);
  program.commandsGroup('Operations:');
  for (const add of [addReindexCommands, addKeyCommands, addArchiveCommands]) add(cli);
  program.commandsGroup('This machine:');
  addMachineCommands(cli);
  return program;
}
