// `sheaf reindex`: jobs that give a collection another space, followed with a bar.
// Called by reindex-commands.ts.
import { setTimeout as sleep } from 'node:timers/promises';
import type { ReindexBody, ReindexJob } from '../contract/api/reindex.js';
import { EXIT } from './command-line.js';
import { UsageError } from './explain-error.js';
import { INTERRUPTED, withInterrupt } from './interrupt.js';
import { count, line, table, type Output } from './output.js';
import { startProgress, type Progress } from './progress.js';
import type { Target } from './target.js';

export interface StartFlags {
  embedder?: string;
  compact?: true;
  gate?: number;
  gateQueries: number;
  keep?: number;
  follow: boolean;
}

const POLL_MS = 300;
/** Nothing more happens to it by itself. */
const RESTING: ReadonlySet<string> = new Set(['succeeded', 'failed', 'cancelled', 'paused']);

export async function startJob(
  target: Target,
  { embedder, compact, gate, gateQueries, keep, follow }: StartFlags,
  output: Output,
): Promise<number> {
  if ((embedder === undefined) === (compact === undefined))
    throw new UsageError('Name the new embedder with --embedder, or say --compact to keep it.');
  const body: ReindexBody = {
    embedder,
    compact,
    gate: gate === undefined ? undefined : { min_overlap: gate, last_n: gateQueries },
    keep_previous_seconds: keep,
  };
  const job = await target.client.reindex.start(target.tenant, target.collection, body);
  if (!follow) line(output.stdout, job.job_id);
  return follow ? followJob(target, job.job_id, output) : EXIT.done;
}

/** Exit code: 0 when it has succeeded, 1 when it rests otherwise, 130 after Ctrl-C, which the job does not notice. */
export function followJob(
  { client, tenant, collection }: Target,
  jobId: string,
  { stdout, stderr }: Output,
): Promise<number> {
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
          `Job ${jobId} goes on. sheaf reindex follow -c ${collection} -t ${tenant} ${jobId} shows it again.`,
        );
      else line(stdout, told(job));
      return signal.aborted ? INTERRUPTED : job.status === 'succeeded' ? EXIT.done : EXIT.failed;
    }
  });
}

function told({
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
      ? ` Of the hits of ${count(gate.queries, 'search')} it finds ${gate.overlap.toFixed(3)}.`
      : '';
  return `Job ${id} of ${tenant}/${collection} ${status === 'paused' ? 'is paused' : status === 'cancelled' ? 'was cancelled' : `has ${status}`}: ${count(chunks, 'chunk')}.${error ? ` ${error}` : ''}${gated}`;
}

export async function listJobs(
  { client, tenant, collection }: Target,
  json: boolean,
  { stdout }: Output,
): Promise<void> {
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
  line(stdout, table(['made', 'status', 'chunks', 'embedder', 'job id'], rows));
}

export async function changeJob(
  { client, tenant, collection }: Target,
  jobId: string,
  change: 'pause' | 'resume' | 'cancel',
  { stdout }: Output,
): Promise<void> {
  const { status } =
    change === 'cancel' ? await client.reindex.cancel(tenant, collection, jobId) : await client.reindex[change](jobId);
  line(stdout, `Job ${jobId} is ${status}.`);
}

export async function rollBack({ client, tenant, collection }: Target, { stdout }: Output): Promise<void> {
  const { vector_space_key: space } = await client.reindex.rollBack(tenant, collection);
  line(stdout, `${tenant}/${collection} is back at ${space}.`);
}
