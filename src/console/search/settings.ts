// The settings of a search as texts, as the form and the address hold them, and the search body that they produce.
// Pure.
import type { SearchBody } from '../../api/search.js';
import { namesIn, vectorOf } from '../format.js';

// Rows of the filter form as a `filters` object. All rows must hold: operators on the same field share an object, and a
// repeated operator goes below `$and`. Pure.

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
  /** As typed; for `any of` and `none of` a comma-separated list. */
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

/** Undefined if no row is complete. */
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

/** A decimal number becomes a number. The server treats both as equal, but compares only numbers by size. */
function scalarOf(text: string): unknown {
  if (/^-?\d{1,15}(\.\d{1,15})?$/.test(text)) return Number(text);
  return text === 'true' ? true : text === 'false' ? false : text;
}

/** Parses the rows in an address; invalid text gives no rows. */
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
  /** '' for the collection's mode. */
  readonly mode: string;
  /** FilterRow[] as JSON. */
  readonly filters: string;
  readonly contentOp: string;
  readonly contentValue: string;
  /** For mode hybrid: `rank`, `score`, or '' for the server's default. */
  readonly method: string;
  /** For method `rank`: the constant added to each rank. */
  readonly fusionK: string;
  readonly vector: string;
  readonly lexical: string;
  readonly ef: string;
  /** '1' or ''. */
  readonly exact: string;
  /** Key of a configured reranker, and the number of candidates it reads. */
  readonly reranker: string;
  readonly depth: string;
  /** Further collections to search, with commas or spaces between. */
  readonly also: string;
  /** '1' or '': whether to search the common collection too. */
  readonly common: string;
  /** '1' or '': forgive typing errors, complete the last word, read quotes, minus and OR. */
  readonly fuzzy: string;
  readonly prefix: string;
  readonly syntax: string;
  /** `docid` or a metadata field; '' for no groups. */
  readonly groupBy: string;
  readonly groupSize: string;
  /** '1' or '': choose hits that differ. */
  readonly diverse: string;
  /** Metadata fields whose values are counted, with commas or spaces between. */
  readonly facets: string;
  /** '1' or '': whether to search while the query is typed. */
  readonly typing: string;
  /** Further fields of the body as a JSON object, which take the place of those above. */
  readonly further: string;
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
  also: '',
  common: '',
  fuzzy: '',
  prefix: '',
  syntax: '',
  groupBy: '',
  groupSize: '',
  diverse: '',
  facets: '',
  typing: '',
  further: '',
};

/** Settings in an address. A prefix selects one side of a comparison. */
export function settingsOf(params: Readonly<Record<string, string>>, prefix = ''): Settings {
  const entries = Object.entries(SETTINGS_DEFAULT).map(([name, fallback]) => [
    name,
    params[prefix + name] ?? (fallback as string),
  ]);
  return Object.fromEntries(entries) as unknown as Settings;
}

/** The settings that differ from the default. */
export function paramsOf(settings: Settings, prefix = ''): Record<string, string> {
  const entries = Object.entries(settings) as [keyof Settings, string][];
  return Object.fromEntries(
    entries.filter(([name, value]) => value !== SETTINGS_DEFAULT[name]).map(([name, value]) => [prefix + name, value]),
  );
}

/** The names of the further collections. */
export const othersOf = ({ also }: Settings): string[] => namesIn(also);

/** The fields whose values are counted. */
export const facetsOf = ({ facets }: Settings): string[] => [...new Set(namesIn(facets))];

/** Whether a row is a choice among the values of a field. */
const isChoice = (row: FilterRow, field: string): boolean =>
  row.field === field && (row.operator === '=' || row.operator === 'any of');

/** The values of a field that are chosen. */
export const chosenIn = ({ filters }: Settings, field: string): string[] =>
  parseRows(filters)
    .filter((row) => isChoice(row, field))
    .flatMap(({ operator, value }) =>
      operator === '=' ? [value.trim()] : value.split(',').map((each) => each.trim()),
    );

/** The settings without the choice among the values of a field. */
export function withoutChoice({ filters }: Settings, field: string): Pick<Settings, 'filters'> {
  const rows = parseRows(filters).filter((row) => !isChoice(row, field));
  return { filters: rows.length === 0 ? '' : JSON.stringify(rows) };
}

/**
 * The settings with one value of a field more, or less if it is chosen: a chunk has to have any of those chosen. A value
 * with a comma, which separates values, is chosen alone.
 */
export function withChoice(
  settings: Settings,
  field: string,
  value: string | number | boolean | null,
): Pick<Settings, 'filters'> {
  const text = String(value);
  const chosen = chosenIn(settings, field);
  const values = chosen.includes(text) ? chosen.filter((each) => each !== text) : [...chosen, text];
  const others = withoutChoice(settings, field);
  if (values.length === 0) return others;
  const row: FilterRow =
    values.length === 1 || text.includes(',')
      ? { field, operator: '=', value: values.at(-1) as string }
      : { field, operator: 'any of', value: values.join(', ') };
  return { filters: JSON.stringify([...parseRows(others.filters), row]) };
}

/** Relevance and difference count alike. */
const DIVERSITY_LAMBDA = 0.5;

/**
 * The search body, with all hit options on. A query that is a list of numbers is a vector. Throws if the further fields
 * are not a JSON object.
 */
export function bodyOf(settings: Settings): SearchBody {
  const { q, k, mode, filters, contentOp, contentValue, ef, exact, reranker, depth, common } = settings;
  const { fuzzy, prefix, syntax, groupBy, groupSize, diverse, further } = settings;
  const filtered = filtersOf(parseRows(filters));
  const v = vectorOf(q);
  return {
    ...(v ? { v } : q.trim() && { q }),
    k: Number(k) || 10,
    ...(mode && { mode }),
    ...(filtered && { filters: filtered }),
    ...(contentValue.trim() && { content_filter: { op: contentOp as 'contains', value: contentValue } }),
    ...(mode === 'hybrid' && fusionOf(settings)),
    ...(exact ? { exact: true } : ef && { ef: Number(ef) }),
    ...(reranker.trim() && { rerank: { instance: reranker.trim(), ...(depth && { depth: Number(depth) }) } }),
    ...(common && { include_common: true }),
    ...(fuzzy && { fuzzy: true }),
    ...(prefix && { prefix: true }),
    ...(syntax && { syntax: true }),
    ...(groupBy.trim() && { group_by: groupBy.trim(), ...(groupSize && { group_size: Number(groupSize) }) }),
    ...(diverse && { diversity: { lambda: DIVERSITY_LAMBDA } }),
    explain: true,
    relevance: true,
    highlight: true,
    ...furtherFields(further),
  };
}

function furtherFields(text: string): object {
  if (text.trim() === '') return {};
  const fields = parsed(text);
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields))
    throw new Error('The further fields are not a JSON object, such as {"min_score": 0.2}.');
  return fields;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
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
