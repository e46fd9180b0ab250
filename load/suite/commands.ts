// The load suite: workloads as data, run in sequence, with throughput, latencies on schedule, cost per request and its
// parts; reports, and the comparison of two reports.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { SheafError, SheafUnreachable } from '../../src/client/errors.js';
import { printRows } from '../kit/command.js';
import { compareReports, comparisonTable, joinedReports, readReport, writeMarkdown, writeReport } from './render.js';
import { runPeers } from './peers/compare.js';
import { UsageError, type Workload, ownWorkloads, readWorkload } from './workload.js';
import type { LoadReport } from './report.js';
import { reportOf, runSuite } from './run.js';

interface Outputs {
  out?: string;
  report?: string;
}

interface RunOptions extends Outputs {
  tiny?: boolean;
  seconds?: number;
  rate?: number;
  connections?: number;
  url?: string;
  apiKey?: string;
  workload: string[];
}

const OUT = [
  '--out <folder>',
  'for report.json, REPORT.md with charts and report.html; default load-reports/TIME',
] as const;
const REPORT = ['--report <file>', 'the Markdown there too, with its charts beside it'] as const;

/** `args` are the arguments after `suite`. */
export async function suite(args: readonly string[]): Promise<void> {
  const program = new Command('npm run load --')
    .description('Workloads for a server, measured and reported')
    .addCommand(runCommand(), { isDefault: true });
  for (const command of [peersCommand(), listCommand(), compareCommand(), renderCommand()]) program.addCommand(command);
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    // Errors that the user can fix are printed as a line or two, others in full.
    console.error(error instanceof UsageError ? error.message : error);
    process.exitCode = 1;
  }
}

function runCommand(): Command {
  return new Command('run')
    .description('run all workloads, or those that are named, and write a report')
    .argument('[names...]', 'of workloads; `list` tells them')
    .option(
      '--workload <file>',
      'a workload of your own, YAML or JSON; may be given several times',
      (file, files: string[]) => [...files, file],
      [],
    )
    .option('--tiny', 'everything small, to see that it runs: no figure of it means anything')
    .option('--seconds <n>', "of each loop, in place of the workload's", above(0))
    .option('--rate <n>', "requests a second of the open loop, in place of the workload's", above(0))
    .option('--connections <n>', "of the closed loop, in place of the workload's", above(0))
    .option(
      '--url <url>',
      'of a server that runs, in place of one of its own; its tenants sheaf-load… are filled, and emptied again',
    )
    .option('--api-key <key>', 'of an administrator of that server')
    .option(...OUT)
    .option(...REPORT)
    .action(run);
}

/** Passes options that it does not know to the comparison. */
function peersCommand(): Command {
  return new Command('peers')
    .description('the same searches against the vector databases that are there; README.md tells the options')
    .argument('[args...]')
    .allowUnknownOption()
    .option(...OUT)
    .option(...REPORT)
    .action(async (args: string[], outputs: Outputs) => keep(await reportOf(typed(), () => runPeers(args)), outputs));
}

async function run(names: readonly string[], options: RunOptions): Promise<void> {
  const failed = (name: string, error: Error): void => {
    console.error(
      `${name} failed:`,
      error instanceof SheafError || error instanceof SheafUnreachable ? error.message : error,
    );
    process.exitCode = 1;
  };
  keep(
    await runSuite(chosen(names, options.workload), {
      ...options,
      tiny: options.tiny === true,
      command: typed(),
      print: console.log,
      failed,
    }),
    options,
  );
}

/** The command line as typed, without the key. */
function typed(): string {
  const words = process.argv
    .slice(process.argv.indexOf('suite') + 1)
    .map((word, i, all) => (all[i - 1] === '--api-key' ? 'KEY' : word.replace(/^(--api-key=).*/, '$1KEY')));
  return ['npm run load', ...(words.length > 0 ? ['--', ...words] : [])].join(' ');
}

/** Writes the report, and prints its tables. */
function keep(
  report: LoadReport,
  { out = join('load-reports', report.startedAt.slice(0, 19).replaceAll(':', '-')), report: markdown }: Outputs,
): void {
  if (report.workloads.length === 0) {
    process.exitCode = 1;
    return console.log('nothing was measured, so there is no report');
  }
  writeReport(report, out);
  if (markdown !== undefined) writeMarkdown(report, markdown);
  for (const { title, tables } of report.workloads)
    for (const table of tables) printRows(`${title}: ${table.title}`, [table.columns, ...table.rows]);
  console.log(
    `${report.seconds} s; ${join(out, 'REPORT.md')}, ${join(out, 'report.html')} and ${join(out, 'report.json')} have it all`,
  );
}

/** The workloads by name; where no names are given, only the user's own files. */
function chosen(names: readonly string[], files: readonly string[]): Workload[] {
  const own = ownWorkloads();
  const unknown = names.find((name) => !own.some((workload) => workload.name === name));
  if (unknown !== undefined)
    throw new UsageError(
      `there is no workload ${unknown}, but ${own.map(({ name }) => name).join(', ')}${existsSync(unknown) ? `; a file is given by --workload ${unknown}` : ''}`,
    );
  const wanted =
    names.length === 0 && files.length > 0 ? [] : own.filter(({ name }) => names.length === 0 || names.includes(name));
  return [...wanted, ...files.map(readWorkload)];
}

function listCommand(): Command {
  return new Command('list').description('what the workloads do').action(() => {
    printRows('Workloads', [['name', 'what it does'], ...ownWorkloads().map(({ name, about }) => [name, about])]);
  });
}

function compareCommand(): Command {
  return new Command('compare')
    .description('two reports side by side: figures, their ratio, better or worse')
    .argument('<A>', 'report.json of a run, or its folder')
    .argument('<B>', 'of the run that is compared with it')
    .option('--threshold <percent>', 'by which figures must differ to be called better or worse', above(0), 5)
    .action((a: string, b: string, { threshold }: { threshold: number }) => {
      const comparison = compareReports(readReport(fileOf(a)), readReport(fileOf(b)), threshold / 100);
      if (comparison.machines.length > 0)
        console.log(
          `The machines differ, so figures may for that reason:\n${comparison.machines.map((line) => `  ${line}`).join('\n')}`,
        );
      const { title, columns, rows } = comparisonTable(comparison);
      printRows(title, [columns, ...rows]);
      const count = (verdict: string): number =>
        comparison.figures.filter((figure) => figure.verdict === verdict).length;
      console.log(
        `B is better in ${count('better')} figures, worse in ${count('worse')}, the same within ${threshold} % in ${count('same')}`,
      );
    });
}

function renderCommand(): Command {
  return new Command('render')
    .description('one report of several: Markdown with charts')
    .argument('<reports...>', 'report.json of runs, or their folders')
    .requiredOption('--report <file>', 'the Markdown to write; its charts go beside it')
    .action((paths: string[], { report }: { report: string }) =>
      writeMarkdown(joinedReports(paths.map((path) => readReport(fileOf(path)))), report),
    );
}

const fileOf = (path: string): string => (path.endsWith('.json') ? path : join(path, 'report.json'));

function above(bound: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!Number.isFinite(value) || value <= bound) throw new InvalidArgumentError(`It wants a number above ${bound}.`);
    return value;
  };
}
