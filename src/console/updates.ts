// Server-sent events out of the pieces of a stream (the format of the HTML standard), for fetch, which can send a key
// where EventSource cannot. Pure; used by state/follow.ts.

export interface ServerEvent {
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
