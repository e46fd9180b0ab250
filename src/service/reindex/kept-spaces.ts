// Spaces that had a collection's name before a switch go when their time is over, and when no search can be on them any
// more. Called every few seconds from when the shards are open (begin-runs.ts); front thread.
import type { Context } from '../context.js';
import type { Staged } from '../staged.js';
import { giveUpStaged } from '../stage-collection.js';

/** Longer than a search takes, one that waits for an index included. */
const GRACE_MS = 30_000;

export async function sweepKept(context: Context): Promise<void> {
  const { staged, nowMs, log } = context;
  const isOver = ({ id, purpose, kept_until_ms: untilMs = 0, created_at: at }: Staged): boolean =>
    purpose === 'previous' && Math.max(untilMs, Date.parse(at) + GRACE_MS) <= nowMs() && !staged.isRequired(id);
  for (const { id } of [...staged.all()].filter(isOver)) {
    await giveUpStaged(context, id).catch((error: unknown) =>
      log.warn({ reason: String(error) }, 'a previous space could not be given up yet'),
    );
  }
}
