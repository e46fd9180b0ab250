// The states of a reindex job, and what can be asked of it in each. Pure.
// Used by the other files of this folder.
import type { ReindexStatus } from '../../contract/api/reindex.js';
import { AppError } from '../../contract/errors.js';

export type Wish = 'pause' | 'resume' | 'cancel';

interface Rule {
  /** States that the wish changes. */
  from: readonly ReindexStatus[];
  /** States that it leads to: asked again there it changes nothing, for an answer may have been lost. */
  leadsTo: readonly ReindexStatus[];
}

const RULES: Readonly<Record<Wish, Rule>> = {
  pause: { from: ['queued', 'running'], leadsTo: ['pausing', 'paused'] },
  resume: { from: ['paused', 'failed'], leadsTo: ['queued', 'running'] },
  cancel: {
    from: ['queued', 'running', 'pausing', 'paused', 'committing', 'failed'],
    leadsTo: ['cancelling', 'cancelled'],
  },
};

export const LIVE: ReadonlySet<ReindexStatus> = new Set<ReindexStatus>([
  'queued',
  'running',
  'pausing',
  'paused',
  'committing',
  'cancelling',
]);
const FINISHED: ReadonlySet<ReindexStatus> = new Set<ReindexStatus>(['cancelled', 'failed', 'succeeded']);

/** A collection has one such job at most. */
export const isLive = (status: ReindexStatus): boolean => LIVE.has(status);
export const isFinished = (status: ReindexStatus): boolean => FINISHED.has(status);

/** Whether it changes anything. Throws 409 `reindex_state_conflict`. */
export function changes(wish: Wish, status: ReindexStatus): boolean {
  const { from, leadsTo } = RULES[wish];
  if (from.includes(status)) return true;
  if (leadsTo.includes(status)) return false;
  throw new AppError('reindex_state_conflict', `The job is ${status}.`, { details: { status } });
}

/** What a job goes on as that the end of the process interrupted; undefined where it stays as it is. */
export function afterRestart(status: ReindexStatus): ReindexStatus | undefined {
  if (status === 'pausing') return 'paused';
  return status === 'running' || status === 'committing' ? 'queued' : undefined;
}
