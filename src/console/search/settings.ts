// What a search of the playground is made of, as the form has it and the address keeps it (texts), and the body that it
// becomes. Pure; used by the search view and by comparisons.
import type { SearchBody } from '../../api/search.js';
import { vectorOf } from '../format.js';

// The rows of the filter form as a `filters` object of the interface. Pure.
// Two rows about one field both hold: their operators stand in one object, or, where they are of one kind, below
// `$and`.

export const OPERATORS = [
  '=',
  '≠',
  '>',
  '≥',
  '<',
  '≤',
  'any of',
  'none of',
  'begins with',
  'exists',
  'is absent',
] as const;
export type Operator = (typeof OPERATORS)[number];

export interface FilterRow {
  readonly field: string;
  readonly operator: Operator;
  /** As typed; of `any of` and `none of` with commas between. */
  readonly value: string;
}

const NAMES: Readonly<Record<Operator, string>> = {
  '=': '$eq',
  '≠': '$ne',
  '>': '$gt',
  '≥': '$gte',
  '<': '$lt',
  '≤': '$lte',
  'any of': '$in',
  'none of': '$nin',
  'begins with': '$prefix',
  exists: '$exists',
  'is absent': '$exists',
};

export const takesValue = (operator: Operator): boolean => operator !== 'exists' && operator !== 'is absent';

/** Undefined where no row says anything. */
export function filtersOf(rows: readonly FilterRow[]): Record<string, unknown> | undefined {
  const said = rows.filter(
    ({ field, operator, value }) => field.trim() !== '' && (value.trim() !== '' || !takesValue(operator)),
  );
  const first: Record<string, Record<string, unknown>> = {};
  const further: Record<string, unknown>[] = [];
  for (const row of said) {
    const [field, name, value] = [row.field.trim(), NAMES[row.operator], valueOf(row)];
    const operators = (first[field] ??= {});
    if (Object.hasOwn(operators, name)) further.push({ [field]: { [name]: value } });
    else operators[name] = value;
  }
  if (said.length === 0) return undefined;
  return further.length === 0 ? first : { $and: [first, ...further] };
}

function valueOf({ operator, value }: FilterRow): unknown {
  if (!takesValue(operator)) return operator === 'exists';
  if (operator === 'begins with') return value.trim();
  if (operator === 'any of' || operator === 'none of')
    return value
      .split(',')
      .map((each) => scalarOf(each.trim()))
      .filter((each) => each !== '');
  return scalarOf(value.trim());
}

/**
 * A text that is a decimal number is one; the server takes both for equal anyway, but compares only numbers by size.
 */
function scalarOf(text: string): unknown {
  if (/^-?\d{1,15}(\.\d{1,15})?$/.test(text)) return Number(text);
  return text === 'true' ? true : text === 'false' ? false : text;
}

/** Rows out of an address: what is none gives none. */
export function parseRows(text: string): FilterRow[] {
  try {
    const rows: unknown = JSON.parse(text || '[]');
    return Array.isArray(rows) ? rows.flatMap((row: Partial<FilterRow> | null) => (isRow(row) ? [row] : [])) : [];
  } catch {
    return [];
  }
}

const isRow = (row: Partial<FilterRow> | null): row is FilterRow =>
  typeof row?.field === 'string' && typeof row.value === 'string' && OPERATORS.some((known) => known === row.operator);

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
