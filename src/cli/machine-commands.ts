// The commands about this machine, which talk to no server, with their options: serve, init, doctor, check, repair,
// completion. Called by program.ts, which runs them.
import { Argument } from 'commander';
import { EXIT, examples, gathered, integerBetween, type CommandLine } from './command-line.js';
import { completionScript, SHELLS, type Shell } from './completion.js';
import { line } from './output.js';
import { styleOf } from './style.js';

interface ServeFlags {
  config?: string;
  dataDir?: string;
  host?: string;
  port?: number;
}

const PORT_MAX = 65_535;

export function addMachineCommands(cli: CommandLine): void {
  addServe(cli);
  addInit(cli);
  addDoctor(cli);
  addCheck(cli);
  addCompletion(cli);
}

function addServe({ program, serve, ended }: CommandLine): void {
  program
    .command('serve')
    .description('start the server; configured by sheaf.yaml and SHEAF_… variables, and these over them')
    .option('--config <file>', 'configuration file; default: SHEAF_CONFIG, else sheaf.yaml')
    .option('--data-dir <folder>', 'where everything is stored; default: ./data')
    .option('--host <address>', 'address to listen on; another than loopback wants keys')
    .option('--port <n>', 'port to listen on; 0 takes a free one', integerBetween(0, PORT_MAX))
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
    .description('write a configuration file in which every key stands with its default and what it means')
    .argument('[file]', 'where it goes', 'sheaf.yaml')
    .option('--set <key=value>', 'give a key another value; may be repeated', gathered)
    .option('--force', 'in place of a file that is there')
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
      'look at what a server here would meet: configuration, disk, memory, limits; exit code 1 where it could not run',
    )
    .option('--json', 'print JSON, a finding a line')
    .addHelpText('after', examples('sheaf doctor', 'SHEAF_DATA_DIR=/var/lib/sheaf sheaf doctor'))
    .action(async ({ json }: { json?: true }) => {
      const { doctor } = await import('./doctor.js');
      ended(await doctor(env, { json: json === true, style: styleOf(output.stdout, env) }, output));
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
  command(
    'check',
    'look for damage in a data directory; exit code 1 where there is any, 2 where it cannot be looked at',
  );
  command('repair', 'mend a data directory as far as possible, and name what is lost');
}

function addCompletion({ program, output }: CommandLine): void {
  program
    .command('completion')
    .description('print a script by which a shell completes commands, options and their values')
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
