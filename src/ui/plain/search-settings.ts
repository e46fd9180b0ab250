// What a search of the playground is made of, as the form has it and the address keeps it (texts), and the body that it becomes.
// Pure; used by the search view and by comparisons.
import type { SearchBody } from '../../contract/api/search.js';
import { filtersOf, parseRows } from './filters.js';

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
  readonly vector: string;
  readonly lexical: string;
  readonly ef: string;
  /** '1' or ''. */
  readonly exact: string;
}

export const SETTINGS_DEFAULT: Settings = { q: '', k: '10', mode: '', filters: '', contentOp: 'contains', contentValue: '', method: '', vector: '1', lexical: '1', ef: '', exact: '' };

/** Of an address; with a prefix those of one side of a comparison. */
export function settingsOf(params: Readonly<Record<string, string>>, prefix = ''): Settings {
  const entries = Object.entries(SETTINGS_DEFAULT).map(([name, fallback]) => [name, params[prefix + name] ?? (fallback as string)]);
  return Object.fromEntries(entries) as unknown as Settings;
}

/** What differs from the default. */
export function paramsOf(settings: Settings, prefix = ''): Record<string, string> {
  const entries = Object.entries(settings) as [keyof Settings, string][];
  return Object.fromEntries(entries.filter(([name, value]) => value !== SETTINGS_DEFAULT[name]).map(([name, value]) => [prefix + name, value]));
}

/** Hits are asked to tell all they can. */
export function bodyOf(settings: Settings): SearchBody {
  const { q, k, mode, filters, contentOp, contentValue, ef, exact } = settings;
  const narrowed = filtersOf(parseRows(filters));
  return {
    q,
    k: Number(k) || 10,
    ...(mode && { mode }),
    ...(narrowed && { filters: narrowed }),
    ...(contentValue.trim() && { content_filter: { op: contentOp as 'contains', value: contentValue } }),
    ...(mode === 'hybrid' && fusionOf(settings)),
    ...(exact ? { exact: true } : ef && { ef: Number(ef) }),
    explain: true,
    relevance: true,
    highlight: true,
  };
}

function fusionOf({ method, vector, lexical }: Settings): Pick<SearchBody, 'fusion'> {
  if (!method) return {};
  return { fusion: { method: method as 'rank', weights: { vector: Number(vector), lexical: Number(lexical) } } };
}
