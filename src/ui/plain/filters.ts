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
