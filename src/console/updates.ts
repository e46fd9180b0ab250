// Parser for server-sent events (HTML standard). Used with fetch, which can send a key in a header, unlike EventSource.
// Pure.
import type { ReindexJob } from '../api/reindex.js';

interface ServerEvent {
  readonly id: string;
  readonly type: string;
  readonly data: string;
}

/** Takes text in arbitrary pieces and returns the events that they complete. */
export class EventLines {
  private rest = '';

  take(text: string): ServerEvent[] {
    const blocks = (this.rest + text).split('\n\n');
    this.rest = blocks.pop() ?? '';
    return blocks.flatMap((block) => parseBlock(block) ?? []);
  }
}

/** Undefined for a block without data: comments and retry intervals. */
function parseBlock(block: string): ServerEvent | undefined {
  const fields = new Map<string, string>();
  for (const line of block.split('\n')) {
    const [, name, value = ''] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (name !== undefined)
      fields.set(name, name === 'data' && fields.has('data') ? `${fields.get('data')}\n${value}` : value);
  }
  const data = fields.get('data');
  return data === undefined ? undefined : { id: fields.get('id') ?? '', type: fields.get('event') ?? 'message', data };
}

// The jobs of a collection, merged from events, answers and the list. Pure.

type Jobs = readonly ReindexJob[];

/** Merges an event, which is always the latest state, because events arrive in order. */
export const withEvent = (jobs: Jobs, job: ReindexJob): Jobs =>
  sorted([job, ...jobs.filter(({ job_id: id }) => id !== job.job_id)]);

/** Merges answers, which may be older than an event that has already arrived. */
export function withAnswers(jobs: Jobs, answers: Jobs): Jobs {
  const isNews = (job: ReindexJob): boolean =>
    !jobs.some(({ job_id: id, updated_at: at }) => id === job.job_id && at >= job.updated_at);
  return answers.filter(isNews).reduce(withEvent, jobs);
}

/** Latest first. */
const sorted = (jobs: Jobs): Jobs => [...jobs].sort((a, b) => (a.created_at < b.created_at ? 1 : -1));

// Bounds a list by dropping old entries that are over. Pure.

/** All entries that are not over, and the latest `max` of the others, in their order. */
export function keptOf<T>(entries: readonly T[], isOver: (entry: T) => boolean, max: number): T[] {
  let tooMany = entries.filter(isOver).length - max;
  return entries.filter((entry) => !isOver(entry) || tooMany-- <= 0);
}
