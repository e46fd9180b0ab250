// `sheaf log` shows logged searches; `sheaf replay` runs them again and reports changes: the ranks of one search, or
// the overlap of many.
import { QUERIES_PAGE_MAX } from '../api/limits.js';
import {
  type CommandLine,
  EXIT,
  type Target,
  type TargetFlags,
  examples,
  integerBetween,
  numberBetween,
  targetOf,
  withTarget,
} from './command-line.js';
import { type Output, count, line, oneLine, table } from './output.js';

interface LogFlags extends TargetFlags {
  limit: number;
  json?: true;
}

export function addLogCommands({ program, env, output, ended }: CommandLine): void {
  withTarget(program.command('log'))
    .description('show the latest searches of a collection, or one logged search')
    .argument('[query_id]', 'id of a logged search')
    .option('-n, --limit <n>', 'maximum number of searches', integerBetween(1, QUERIES_PAGE_MAX), 20)
    .option('--json', 'print one search per line, as JSON')
    .addHelpText(
      'after',
      examples('sheaf log -c notes -n 50', "sheaf log -c notes --json | jq -r 'select(.result_count == 0).query_text'"),
    )
    .action(async (queryId: string | undefined, flags: LogFlags) => {
      const target = targetOf(flags, env);
      if (queryId === undefined) await log(target, flags.limit, flags.json === true, output);
      else await logEntry(target, queryId, output);
    });
  withTarget(program.command('replay'))
    .description("run logged searches again on today's documents, and compare the hits")
    .argument('[query_id]', 'id of a logged search; default: the latest ones')
    .option('-n, --last <n>', 'number of latest searches', integerBetween(1, QUERIES_PAGE_MAX), 20)
    .option(
      '--min-overlap <share>',
      'exit code 1 if the mean share of hits found again is lower (0 to 1), or if nothing is logged',
      numberBetween(0, 1),
    )
    .option('--json', 'print one search per line, as JSON')
    .addHelpText(
      'after',
      examples(
        'sheaf replay -c notes 0198c2f1-6a07-7b52-8c11-90d3f3f5a1b2',
        'sheaf replay -c notes --last 100 --min-overlap 0.9',
      ),
    )
    .action(async (queryId: string | undefined, flags: TargetFlags & ReplayOptions) =>
      ended(await replay(targetOf(flags, env), queryId, flags, output)),
    );
}

interface RankedHit {
  id: string;
  /** Ranks count from 1; absent if the ranking lacks the hit. */
  now?: number;
  before?: number;
}

interface RankChanges {
  /** Share of the earlier hits that are found now; 1 if there were none. */
  overlap: number;
  /** Mean difference between the ranks of a hit in both rankings. */
  rank_shift: number;
  isSame: boolean;
  /** The current hits in order, then those that are gone. */
  hits: RankedHit[];
}

/** Compares two rankings of the same search: common hits, and how far they moved. */
function compareRanks(before: readonly string[], now: readonly string[]): RankChanges {
  const rankBefore = new Map(before.map((id, i) => [id, i + 1]));
  const found = new Set(now);
  const hits: RankedHit[] = now.map((id, i) => ({ id, now: i + 1, before: rankBefore.get(id) }));
  const shifts = hits.flatMap(({ now: rank, before: was }) =>
    rank === undefined || was === undefined ? [] : [Math.abs(rank - was)],
  );
  const gone = before.filter((id) => !found.has(id)).map((id): RankedHit => ({ id, before: rankBefore.get(id) }));
  return {
    overlap: before.length === 0 ? 1 : shifts.length / before.length,
    rank_shift: shifts.length === 0 ? 0 : shifts.reduce((sum, shift) => sum + shift, 0) / shifts.length,
    isSame: before.length === now.length && before.every((id, i) => id === now[i]),
    hits: [...hits, ...gone],
  };
}

interface ReplayOptions {
  last: number;
  minOverlap?: number;
  json?: true;
}

interface Replayed extends RankChanges {
  query_id: string;
  query_text: string;
  replay_query_id?: string;
}

/** Exit code: 1 if the mean overlap is below the bound, or if there is a bound and nothing to compare. */
async function replay(
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
  if (!json) line(stdout, queryId === undefined ? summaryOf(replayed, overlap) : ranks(replayed[0] as Replayed));
  return overlap < minOverlap || (minOverlap > 0 && replayed.length === 0) ? EXIT.failed : EXIT.done;
}

/** Ids of the latest searches. Replays are logged too but skipped. */
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
  if (hits.length === 0) return `"${oneLine(text)}" found nothing then, and finds nothing now.`;
  return table(
    ['now', 'before', 'chunk'],
    hits.map(({ id, now, before }) => [
      now === undefined ? 'gone' : String(now),
      before === undefined ? 'new' : String(before),
      id,
    ]),
  );
}

function summaryOf(replayed: readonly Replayed[], overlap: number): string {
  if (replayed.length === 0) return 'There are no logged searches to run again.';
  const changed = replayed.filter(({ isSame }) => !isSame);
  const rows = changed.map(({ overlap: share, rank_shift: shift, query_id: id, query_text: text }) => [
    share.toFixed(2),
    shift.toFixed(1),
    id,
    text || '(a vector)',
  ]);
  const summary = `${count(replayed.length, 'search')} run again: mean overlap ${overlap.toFixed(3)}, ${changed.length} with different hits or a different order.`;
  return rows.length === 0 ? summary : `${table(['overlap', 'shift', 'query id', 'query'], rows)}\n${summary}`;
}

/** Prints the latest searches, latest first. */
async function log(
  { client, tenant, collection }: Target,
  limit: number,
  json: boolean,
  { stdout }: Output,
): Promise<void> {
  const { queries } = await client.queries.list(tenant, collection, { limit });
  if (json) return queries.forEach((query) => line(stdout, JSON.stringify(query)));
  if (queries.length === 0) return line(stdout, `No searches of ${tenant}/${collection} are logged.`);
  const rows = queries.map(
    ({ executed_at: at, query_text: text, k, result_count: hits, latency_ms: ms, query_id: id }) => [
      at,
      hits,
      k,
      ms === undefined ? '-' : ms.toFixed(1),
      id,
      text || '(a vector)',
    ],
  );
  line(stdout, table(['time', 'hits', 'k', 'ms', 'query id', 'query'], rows));
}

async function logEntry({ client, tenant, collection }: Target, queryId: string, { stdout }: Output): Promise<void> {
  const { query } = await client.queries.get(tenant, collection, queryId);
  line(stdout, JSON.stringify(query, null, 2));
}
