// Filters as they are typed: `lang=en`, `year>=2020`, `draft!=true`, several of them, as the filters of a search body.
// Used by the search command and by the command that makes keys. Pure.
import { InvalidArgumentError } from 'commander';

const OPERATORS: Readonly<Record<string, string>> = { '>=': '$gte', '<=': '$lte', '>': '$gt', '<': '$lt', '!=': '$ne' };
const FORM = /^([^=<>!]+)(>=|<=|!=|=|>|<)(.*)$/su;
/** Longer ones stay texts, which keep their digits. */
const NUMBER = /^-?\d{1,15}(\.\d+)?$/;

export type Filters = Record<string, unknown>;

/**
 * For an option that may be repeated: the same field with `=` again means any of the values, with others all of the
 * bounds.
 */
export function filterWord(word: string, before: Filters = {}): Filters {
  const [, field = '', operator = '', text = ''] = FORM.exec(word) ?? [];
  if (field.trim() === '')
    throw new InvalidArgumentError('Give it as FIELD=VALUE, or with >=, <=, >, < or != in place of =.');
  const name = field.trim();
  const known = before[name];
  if (operator !== '=')
    return {
      ...before,
      [name]: {
        ...(isBounds(known) ? known : {}),
        [OPERATORS[operator] as string]: NUMBER.test(text) ? Number(text) : text,
      },
    };
  if (known === undefined || isBounds(known)) return { ...before, [name]: text };
  return { ...before, [name]: [...(Array.isArray(known) ? known : [known]), text] };
}

const isBounds = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
