// `sheaf reindex`: jobs that rebuild a collection in another vector space, with a progress bar.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { KEEP_SECONDS_MAX, QUERIES_PAGE_MAX, SHARDS_MAX } from '../api/limits.js';
import type { ReindexBody, ReindexJob } from '../api/reindex.js';
import {
  type CommandLine,
  EXIT,
  type Target,
  type TargetFlags,
  examples,
  integerBetween,
  numberBetween,
  targetOf,
  withInterrupt,
  withTarget,
} from './command-line.js';
import { UsageError } from './errors.js';
import { type Output, count, line, table } from './output.js';
import { type Progress, startProgress } from './progress.js';

export function addReindexCommands(cli: CommandLine): void {
  const { program, env, output, ended } = cli;
  const reindex = program
    .command('reindex')
    .description('rebuild the vectors of a collection while it is searched and written')
    .addHelpText(
      'after',
      examples(
        'sheaf reindex start -c notes --embedder minilm --gate 0.8 --keep 86400',
        'sheaf reindex start -c notes --compact',
        'sheaf reindex start -c notes --partitions 4',
        'sheaf reindex list -c notes',
        'sheaf reindex rollback -c notes',
      ),
    )
    .addHelpText('after', '\nPausing and resuming require the admin key.');
  addStart(reindex, cli);
  withTarget(reindex.command('list', { isDefault: true }))
    .description('list the jobs of a collection, newest first')
    .option('--json', 'print one job per line, as JSON')
    .action((flags: TargetFlags & { json?: true }) => listJobs(targetOf(flags, env), flags.json === true, output));
  ofJob(reindex, 'follow', 'show the progress of a job until it ends').action(
    async (jobId: string, flags: TargetFlags) => ended(await followJob(targetOf(flags, env), jobId, output)),
  );
  for (const [name, description] of [
    ['pause', 'pause a job'],
    ['resume', 'resume a paused or failed job'],
    ['cancel', 'cancel a job and delete what it has built'],
  ] as const) {
    ofJob(reindex, name, description).action((jobId: string, flags: TargetFlags) =>
      changeJob(targetOf(flags, env), jobId, name, output),
    );
  }
  withTarget(reindex.command('rollback'))
    .description('go back to the previous vector space, while it is kept')
    .action((flags: TargetFlags) => rollBack(targetOf(flags, env), output));
}

function addStart(reindex: Command, { env, output, ended }: CommandLine): void {
  withTarget(reindex.command('start'))
    .description('start a job and follow it to its end; Ctrl-C stops following, not the job')
    .option('--embedder <selector>', 'the new embedder of the collection')
    .option('--compact', 'keep the embedder, and rebuild memory and graph')
    .option(
      '--partitions <n>',
      'keep the embedder, and spread the collection over this number of shards',
      integerBetween(1, SHARDS_MAX),
    )
    .option('--gate <share>', "switch only if this share of today's hits is found, from 0 to 1", numberBetween(0, 1))
    .option(
      '--gate-queries <n>',
      'number of latest searches that the gate runs',
      integerBetween(1, QUERIES_PAGE_MAX),
      100,
    )
    .option(
      '--keep <seconds>',
      'seconds to keep the previous space for a rollback',
      integerBetween(0, KEEP_SECONDS_MAX),
    )
    .option('--no-follow', 'print the id of the job and exit')
    .action(async (flags: TargetFlags & StartFlags) => ended(await startJob(targetOf(flags, env), flags, output)));
}

const ofJob = (reindex: Command, name: string, description: string): Command =>
  withTarget(reindex.command(name).argument('<job_id>')).description(description);

interface StartFlags {
  embedder?: string;
  compact?: true;
  partitions?: number;
  gate?: number;
  gateQueries: number;
  keep?: number;
  follow: boolean;
}

const POLL_MS = 300;
/** States that a job does not leave by itself. */
const RESTING: ReadonlySet<string> = new Set(['succeeded', 'failed', 'cancelled', 'paused']);

async function startJob(
  target: Target,
  { embedder, compact, partitions, gate, gateQueries, keep, follow }: StartFlags,
  output: Output,
): Promise<number> {
  if ([embedder, compact, partitions].filter((what) => what !== undefined).length !== 1)
    throw new UsageError(
      'Name the new embedder with --embedder, or use --compact or --partitions to keep the embedder; only one of them.',
    );
  const body: ReindexBody = {
    embedder,
    compact,
    partitions,
    gate: gate === undefined ? undefined : { min_overlap: gate, last_n: gateQueries },
    keep_previous_seconds: keep,
  };
  const job = await target.client.reindex.start(target.tenant, target.collection, body);
  if (!follow) line(output.stdout, job.job_id);
  return follow ? followJob(target, job.job_id, output) : EXIT.done;
}

/**
 * Exit code: 0 if the job succeeded, 1 if it rests in another state, 130 after Ctrl-C, which does not affect the job.
 */
function followJob({ client, tenant, collection }: Target, jobId: string, { stdout, stderr }: Output): Promise<number> {
  return withInterrupt(async (signal) => {
    let progress: Progress | undefined;
    for (;;) {
      const job = await client.reindex.get(tenant, collection, jobId);
      if (job.total_chunks > 0) progress ??= startProgress(stderr, job.total_chunks, 'chunk');
      progress?.update(job.completed_chunks);
      if (!RESTING.has(job.status) && !signal.aborted) {
        await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
        continue;
      }
      progress?.stop();
      if (!RESTING.has(job.status))
        line(
          stderr,
          `Job ${jobId} continues. sheaf reindex follow -c ${collection} -t ${tenant} ${jobId} shows it again.`,
        );
      else line(stdout, summaryOf(job));
      return signal.aborted ? EXIT.interrupted : job.status === 'succeeded' ? EXIT.done : EXIT.failed;
    }
  });
}

function summaryOf({
  job_id: id,
  status,
  collection,
  tenant,
  completed_chunks: chunks,
  error,
  gate_result: gate,
}: ReindexJob): string {
  const gated =
    gate && gate.overlap !== null
      ? ` It finds ${gate.overlap.toFixed(3)} of the hits of ${count(gate.queries, 'search')}.`
      : '';
  return `Job ${id} of ${tenant}/${collection} ${status === 'paused' ? 'is paused' : status === 'cancelled' ? 'was cancelled' : `has ${status}`}: ${count(chunks, 'chunk')}.${error ? ` ${error}` : ''}${gated}`;
}

async function listJobs({ client, tenant, collection }: Target, json: boolean, { stdout }: Output): Promise<void> {
  const { jobs } = await client.reindex.list(tenant, collection);
  if (json) return jobs.forEach((job) => line(stdout, JSON.stringify(job)));
  if (jobs.length === 0) return line(stdout, `${tenant}/${collection} has no reindex jobs.`);
  const rows = jobs.map(
    ({ created_at: at, status, completed_chunks: done, total_chunks: total, target, job_id: id }) => [
      at,
      status,
      `${done}/${total}`,
      `${target.embedder_type}:${target.embed_model}`,
      id,
    ],
  );
  line(stdout, table(['created', 'status', 'chunks', 'embedder', 'job id'], rows));
}

async function changeJob(
  { client, tenant, collection }: Target,
  jobId: string,
  change: 'pause' | 'resume' | 'cancel',
  { stdout }: Output,
): Promise<void> {
  const { status } =
    change === 'cancel' ? await client.reindex.cancel(tenant, collection, jobId) : await client.reindex[change](jobId);
  line(stdout, `Job ${jobId} is ${status}.`);
}

async function rollBack({ client, tenant, collection }: Target, { stdout }: Output): Promise<void> {
  const { vector_space_key: space } = await client.reindex.rollBack(tenant, collection);
  line(stdout, `${tenant}/${collection} is back at ${space}.`);
}
