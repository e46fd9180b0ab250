// What a search of the playground is made of, as the form has it and the address keeps it (texts), and the body that it
// becomes. Pure; used by the search view and by comparisons.
import type { SearchBody } from '../../contract/api/search.js';
import { filtersOf, parseRows } from './filters.js';
import { vectorOf } from './own-vectors.js';

export interface Settings {
  readonly q: string;
  readonly k: string;
  /** '' : the collection's. */
  readonly mode: string;
  /** FilterRow[] as JSON. */
  readonly filters: string;
  readonly contentOp: string;
  readonly contentValue: string;
  /** Of mode hybrid: `rank`, `score`, '' for the server's. */
  readonly method: string;
  /** Of method `rank`: what is added to each rank. */
  readonly fusionK: string;
  readonly vector: string;
  readonly lexical: string;
  readonly ef: string;
  /** '1' or ''. */
  readonly exact: string;
  /** A configured reranker, and how many hits it reads. */
  readonly reranker: string;
  readonly depth: string;
  /** '1' or '': the common collection too. */
  readonly common: string;
}

export const SETTINGS_DEFAULT: Settings = {
  q: '',
  k: '10',
  mode: '',
  filters: '',
  contentOp: 'contains',
  contentValue: '',
  method: '',
  fusionK: '',
  vector: '1',
  lexical: '1',
  ef: '',
  exact: '',
  reranker: '',
  depth: '',
  common: '',
};

/** Of an address; with a prefix those of one side of a comparison. */
export function settingsOf(params: Readonly<Record<string, string>>, prefix = ''): Settings {
  const entries = Object.entries(SETTINGS_DEFAULT).map(([name, fallback]) => [
    name,
    params[prefix + name] ?? (fallback as string),
  ]);
  return Object.fromEntries(entries) as unknown as Settings;
}

/** What differs from the default. */
export function paramsOf(settings: Settings, prefix = ''): Record<string, string> {
  const entries = Object.entries(settings) as [keyof Settings, string][];
  return Object.fromEntries(
    entries.filter(([name, value]) => value !== SETTINGS_DEFAULT[name]).map(([name, value]) => [prefix + name, value]),
  );
}

/** Hits are asked to tell all they can. A query that is a list of numbers is a vector. */
export function bodyOf(settings: Settings): SearchBody {
  const { q, k, mode, filters, contentOp, contentValue, ef, exact, reranker, depth, common } = settings;
  const narrowed = filtersOf(parseRows(filters));
  const v = vectorOf(q);
  return {
    ...(v ? { v } : { q }),
    k: Number(k) || 10,
    ...(mode && { mode }),
    ...(narrowed && { filters: narrowed }),
    ...(contentValue.trim() && { content_filter: { op: contentOp as 'contains', value: contentValue } }),
    ...(mode === 'hybrid' && fusionOf(settings)),
    ...(exact ? { exact: true } : ef && { ef: Number(ef) }),
    ...(reranker.trim() && { rerank: { instance: reranker.trim(), ...(depth && { depth: Number(depth) }) } }),
    ...(common && { include_common: true }),
    explain: true,
    relevance: true,
    highlight: true,
  };
}

function fusionOf({ method, fusionK, vector, lexical }: Settings): Pick<SearchBody, 'fusion'> {
  if (!method) return {};
  return {
    fusion: {
      method: method as 'rank',
      ...(method === 'rank' && fusionK && { k: Number(fusionK) }),
      weights: { vector: Number(vector), lexical: Number(lexical) },
    },
  };
}
