// The quality gate of a reindex: runs the latest logged text searches on the live and on the shadow collection, and
// compares the hits. Runs on the main thread.
import type { GateLatency, GateResult } from '../../api/reindex.js';
import { roundTo } from '../../base/numbers.js';
import type { LoggedQuery } from '../../storage/query-log-commands.js';
import type { Collection } from '../../api/collections.js';
import { logIdOf } from '../../storage/catalog-commands.js';
import { callerOf, inputOf } from '../query-log/logged-search.js';
import { searchSpace } from '../search/search.js';
import { type ReindexContext, retrying } from './jobs.js';

/** Number of log entries that are read for each text search that is needed. */
const LOOKED_AT_FACTOR = 4;

interface Question {
  live: Collection;
  shadow: Collection;
  gate: { min_overlap: number; last_n: number };
  signal: AbortSignal;
}

interface Compared {
  overlap: number;
  /** Rank differences of the hits that both searches found. */
  shifts: number[];
  liveMs: number;
  shadowMs: number;
}

/** Passes if there is no logged search to compare. */
export async function passGate(context: ReindexContext, { live, shadow, gate, signal }: Question): Promise<GateResult> {
  const compared: Compared[] = [];
  for (const query of await latestTexts(context, live, gate.last_n)) {
    signal.throwIfAborted();
    compared.push(await retrying(() => compare(context, live, shadow, query), signal));
  }
  const overlap = meanOf(compared.map((one) => one.overlap));
  const shifts = compared.flatMap((one) => one.shifts);
  const shadowMs = latencyOf(compared.map((one) => one.shadowMs));
  return {
    queries: compared.length,
    overlap,
    rank_shift: meanOf(shifts),
    live_ms: latencyOf(compared.map(({ liveMs }) => liveMs)),
    shadow_ms: shadowMs,
    staged_ms: shadowMs,
    passed: overlap === null || overlap >= gate.min_overlap,
  };
}

async function latestTexts({ queryLog }: ReindexContext, live: Collection, max: number): Promise<LoggedQuery[]> {
  const found: LoggedQuery[] = [];
  for await (const page of queryLog.pages(logIdOf(live), max * LOOKED_AT_FACTOR)) {
    found.push(...page.filter(({ text }) => text !== ''));
    if (found.length >= max) break;
  }
  return found.slice(0, max);
}

async function compare(
  context: ReindexContext,
  live: Collection,
  shadow: Collection,
  query: LoggedQuery,
): Promise<Compared> {
  const { include_common: _, ...input } = inputOf(query);
  const search = async (space: Collection): Promise<{ ids: string[]; ms: number }> => {
    const startedAtMs = performance.now();
    const { ids } = await searchSpace(context.search, space, input, callerOf(query));
    return { ids, ms: performance.now() - startedAtMs };
  };
  const [before, after] = [await search(live), await search(shadow)];
  return { ...compareRanks(before.ids, after.ids), liveMs: before.ms, shadowMs: after.ms };
}

/** Two empty results count as equal. */
export function compareRanks(
  before: readonly string[],
  after: readonly string[],
): Pick<Compared, 'overlap' | 'shifts'> {
  const shifts = before.flatMap((id, rank) => {
    const other = after.indexOf(id);
    return other < 0 ? [] : [Math.abs(other - rank)];
  });
  const most = Math.max(before.length, after.length);
  return { overlap: most === 0 ? 1 : shifts.length / most, shifts };
}

const meanOf = (values: readonly number[]): number | null =>
  values.length === 0 ? null : roundTo(values.reduce((sum, value) => sum + value, 0) / values.length, 4);
const latencyOf = (ms: readonly number[]): GateLatency | null =>
  ms.length === 0 ? null : { mean: meanOf(ms) ?? 0, max: roundTo(Math.max(...ms), 4) };
