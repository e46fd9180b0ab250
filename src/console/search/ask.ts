// The search that the settings of the playground ask for, in one collection or in several.
import type { SearchAnswer, SearchTiming } from '../../api/search.js';
import { type At, type Told, search, searchCollections } from '../api.js';
import { type Settings, bodyOf, othersOf } from './settings.js';

/** Searches; of several collections each phase has the time of the slowest one, as they are searched side by side. */
export async function ask(at: At, settings: Settings, signal: AbortSignal): Promise<Told<SearchAnswer>> {
  const others = othersOf(settings);
  if (others.length === 0) return search(at, bodyOf(settings), signal);
  const { searches, merge: _merge, ...answer } = await searchCollections(at, others, bodyOf(settings), signal);
  const [first] = searches;
  return {
    ...answer,
    ...(first && { mode: first.mode, timing: slowest(searches.map(({ timing }) => timing)) }),
    ...(searches.some(({ degraded }) => degraded) && { degraded: true }),
  };
}

function slowest([first, ...others]: readonly SearchTiming[]): SearchTiming {
  const all = { ...(first as SearchTiming) };
  for (const timing of others)
    for (const phase of Object.keys(timing) as (keyof SearchTiming)[])
      all[phase] = Math.max(all[phase] ?? 0, timing[phase] ?? 0);
  return all;
}
