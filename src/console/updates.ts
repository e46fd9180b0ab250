// Server-sent events out of the pieces of a stream (the format of the HTML standard), for fetch, which can send a key
// where EventSource cannot. Pure.
import type { ReindexJob } from '../api/reindex.js';

interface ServerEvent {
  readonly id: string;
  readonly type: string;
  readonly data: string;
}

/** Takes text as it comes, however it was cut; gives the events that are complete with it. */
export class EventLines {
  private rest = '';

  take(text: string): ServerEvent[] {
    const blocks = (this.rest + text).split('\n\n');
    this.rest = blocks.pop() ?? '';
    return blocks.flatMap((block) => parseBlock(block) ?? []);
  }
}

/** Undefined for what has no data: comments, and how long to wait. */
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

// The jobs of a collection as the view has them, when news of them come by three ways: events, answers to what was
// asked for, and the list. Pure; used by the reindex view.

type Jobs = readonly ReindexJob[];

/** An event is of now: events come in order. */
export const withEvent = (jobs: Jobs, job: ReindexJob): Jobs =>
  sorted([job, ...jobs.filter(({ job_id: id }) => id !== job.job_id)]);

/** An answer may come behind an event that has told of what happened since. */
export function withAnswers(jobs: Jobs, answers: Jobs): Jobs {
  const isNews = (job: ReindexJob): boolean =>
    !jobs.some(({ job_id: id, updated_at: at }) => id === job.job_id && at >= job.updated_at);
  return answers.filter(isNews).reduce(withEvent, jobs);
}

/** The latest first. */
const sorted = (jobs: Jobs): Jobs => [...jobs].sort((a, b) => (a.created_at < b.created_at ? 1 : -1));

// A list that may grow without end, of which what is over goes when there is too much of it.
// Pure; used for uploads.

/** All that are not over, and of the others the latest `max`; in their order. */
export function keptOf<T>(entries: readonly T[], isOver: (entry: T) => boolean, max: number): T[] {
  let tooMany = entries.filter(isOver).length - max;
  return entries.filter((entry) => !isOver(entry) || tooMany-- <= 0);
}
