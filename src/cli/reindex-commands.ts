// The command `reindex` and what it can do, with their options.
// Called by program.ts, which runs them.
import type { Command } from 'commander';
import { KEEP_SECONDS_MAX, QUERIES_PAGE_MAX } from '../contract/limits.js';
import { examples, integerBetween, numberBetween, type CommandLine } from './command-line.js';
import { changeJob, followJob, listJobs, rollBack, startJob, type StartFlags } from './reindex.js';
import { targetOf, withTarget, type TargetFlags } from './target.js';

export function addReindexCommands(cli: CommandLine): void {
  const { program, env, output, ended } = cli;
  const reindex = program
    .command('reindex')
    .description('embed a collection anew, while it is searched and written')
    .addHelpText(
      'after',
      examples(
        'sheaf reindex start -c notes --embedder minilm --gate 0.8 --keep 86400',
        'sheaf reindex start -c notes --compact',
        'sheaf reindex list -c notes',
        'sheaf reindex rollback -c notes',
      ),
    )
    .addHelpText('after', '\nPausing and resuming want the admin key.');
  addStart(reindex, cli);
  withTarget(reindex.command('list', { isDefault: true }))
    .description('jobs of a collection, newest first')
    .option('--json', 'print JSON, a job a line')
    .action((flags: TargetFlags & { json?: true }) => listJobs(targetOf(flags, env), flags.json === true, output));
  ofJob(reindex, 'follow', 'show the progress of a job until it ends').action(
    async (jobId: string, flags: TargetFlags) => ended(await followJob(targetOf(flags, env), jobId, output)),
  );
  for (const [name, description] of [
    ['pause', 'stop a job for now'],
    ['resume', 'let a paused or failed job go on'],
    ['cancel', 'end a job without trace'],
  ] as const) {
    ofJob(reindex, name, description).action((jobId: string, flags: TargetFlags) =>
      changeJob(targetOf(flags, env), jobId, name, output),
    );
  }
  withTarget(reindex.command('rollback'))
    .description('go back to the space before, while it is kept')
    .action((flags: TargetFlags) => rollBack(targetOf(flags, env), output));
}

function addStart(reindex: Command, { env, output, ended }: CommandLine): void {
  withTarget(reindex.command('start'))
    .description('start a job and follow it to its end; Ctrl-C stops following, not the job')
    .option('--embedder <selector>', 'the embedder that the collection gets')
    .option('--compact', 'the same embedder: memory and graph anew')
    .option(
      '--gate <share>',
      'switch only where so much of the hits of today is found, from 0 to 1',
      numberBetween(0, 1),
    )
    .option(
      '--gate-queries <n>',
      'how many of the latest searches the gate runs',
      integerBetween(1, QUERIES_PAGE_MAX),
      100,
    )
    .option('--keep <seconds>', 'keep the space before for a rollback', integerBetween(0, KEEP_SECONDS_MAX))
    .option('--no-follow', 'print the job, and end')
    .action(async (flags: TargetFlags & StartFlags) => ended(await startJob(targetOf(flags, env), flags, output)));
}

const ofJob = (reindex: Command, name: string, description: string): Command =>
  withTarget(reindex.command(name).argument('<job_id>')).description(description);
