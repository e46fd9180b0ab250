// `sheaf replay`: logged searches again, and what has changed: the ranks of one, the overlap of many.
// Called by log-commands.ts.
import { EXIT } from './command-line.js';
import { compareRanks, type RankChanges } from './compare-ranks.js';
import { count, line, oneLine, table, type Output } from './output.js';
import type { Target } from './target.js';

export interface ReplayOptions {
  last: number;
  minOverlap?: number;
  json?: true;
}

interface Replayed extends RankChanges {
  query_id: string;
  query_text: string;
  replay_query_id?: string;
}

/** Exit code: 1 where the mean overlap is below the bound, or there is a bound and nothing to hold against it. */
export async function replay(
  target: Target,
  queryId: string | undefined,
  { last, minOverlap = 0, json }: ReplayOptions,
  { stdout }: Output,
): Promise<number> {
  const ids = queryId === undefined ? await latest(target, last) : [queryId];
  const replayed: Replayed[] = [];
  for (const id of ids) {
    const one = await replayOne(target, id);
    replayed.push(one);
    if (json) line(stdout, JSON.stringify(one));
  }
  const overlap = replayed.length === 0 ? 1 : replayed.reduce((sum, each) => sum + each.overlap, 0) / replayed.length;
  if (!json) line(stdout, queryId === undefined ? told(replayed, overlap) : ranks(replayed[0] as Replayed));
  return overlap < minOverlap || (minOverlap > 0 && replayed.length === 0) ? EXIT.failed : EXIT.done;
}

/** A replay is logged too: only what was searched by somebody is run again. */
async function latest({ client, tenant, collection }: Target, last: number): Promise<string[]> {
  const ids: string[] = [];
  for await (const { query_id: id, replay_of: original } of client.queries.each(tenant, collection)) {
    if (original === undefined) ids.push(id);
    if (ids.length === last) break;
  }
  return ids;
}

async function replayOne({ client, tenant, collection }: Target, id: string): Promise<Replayed> {
  const { query } = await client.queries.get(tenant, collection, id);
  const { matches, replay_query_id: replayId } = await client.queries.replay(tenant, collection, id);
  return {
    query_id: id,
    query_text: query.query_text,
    replay_query_id: replayId,
    ...compareRanks(
      query.result_ids,
      matches.map((match) => match.id),
    ),
  };
}

function ranks({ query_text: text, hits }: Replayed): string {
  if (hits.length === 0) return `"${oneLine(text)}" found nothing, and finds nothing.`;
  return table(
    ['now', 'before', 'chunk'],
    hits.map(({ id, now, before }) => [
      now === undefined ? 'gone' : String(now),
      before === undefined ? 'new' : String(before),
      id,
    ]),
  );
}

function told(replayed: readonly Replayed[], overlap: number): string {
  if (replayed.length === 0) return 'There are no logged searches to run again.';
  const changed = replayed.filter(({ isSame }) => !isSame);
  const rows = changed.map(({ overlap: share, rank_shift: shift, query_id: id, query_text: text }) => [
    share.toFixed(2),
    shift.toFixed(1),
    id,
    text || '(a vector)',
  ]);
  const summary = `${count(replayed.length, 'search')} run again: mean overlap ${overlap.toFixed(3)}, ${changed.length} with other hits or another order.`;
  return rows.length === 0 ? summary : `${table(['overlap', 'shift', 'query id', 'query'], rows)}\n${summary}`;
}
