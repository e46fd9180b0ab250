// The part of the configuration that searches take: modes served, what boost adds, how hybrid fuses.
// Called by config-shape.ts at start.
import type { Language } from './contract/language.js';
import type { FusionSettings } from './contract/api/search.js';
import type { SearchMode } from './contract/resources.js';
import { fusionSettings } from './rank/fusion-settings.js';

export interface SearchConfig {
  modes: SearchMode[];
  boostWeight: number;
  stringOperators: boolean;
  degrade: boolean;
  language: Language;
  fusion: FusionSettings;
  /** Search workers. */
  threads: number;
  /** Of each search worker; 0 for none. */
  hitCacheBytes: number;
  /** Between two checks of recall; 0 for none. */
  recallSampleS: number;
}

export function assembleSearch(value: (path: string) => unknown, isGiven: (path: string) => boolean): SearchConfig {
  return {
    modes: value('search.modes') as SearchMode[],
    boostWeight: value('search.boost_weight') as number,
    stringOperators: value('search.string_operators') as boolean,
    degrade: value('search.degrade') as boolean,
    language: value('search.language') as Language,
    fusion: assembleFusion(value, isGiven),
    threads: value('search.threads') as number,
    hitCacheBytes: (value('search.hit_cache_mb') as number) * 1024 * 1024,
    recallSampleS: value('search.recall_sample_seconds') as number,
  };
}

/** A weight that is not given is that of the method. */
function assembleFusion(value: (path: string) => unknown, isGiven: (path: string) => boolean): FusionSettings {
  const settings = fusionSettings({
    method: value('search.fusion.method') as FusionSettings['method'],
    k: value('search.fusion.k') as number,
  });
  for (const half of ['vector', 'lexical'] as const) {
    const path = `search.fusion.${half}_weight`;
    if (isGiven(path)) settings.weights[half] = value(path) as number;
  }
  return settings;
}
