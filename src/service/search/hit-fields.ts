// Which fields hits have: `include` and `exclude` of a search, resolved for the engine. Pure functions.
import { invalidField } from '../../api/errors.js';
import type { HitOptions } from '../../api/search.js';
import type { HitFields } from '../../engine/search/hit-json.js';

const META = 'meta';
const KEY_PREFIX = 'meta.';
const FIELDS = ['text', META, 'match_reason'];

/** Throws a 422 for a name that is neither a field of hits nor a metadata key. `at` is where the names stand. */
export function checkHitFields(names: readonly string[], at: string[]): void {
  names.forEach((name, i) => {
    if (FIELDS.includes(name) || (name.startsWith(KEY_PREFIX) && name.length > KEY_PREFIX.length)) return;
    throw invalidField(
      [...at, String(i)],
      'Should be `text`, `meta`, `match_reason`, or `meta.KEY` for one metadata key; `id` and `score` are always there.',
      'unknown_field',
      name.slice(0, 200),
    );
  });
}

/** Undefined if hits have all fields. Of both lists together hits have what is included and not excluded. */
export function hitFieldsOf({ include, exclude }: HitOptions): HitFields | undefined {
  if (!include && !exclude) return undefined;
  const has = (name: string): boolean => (include?.includes(name) ?? true) && !exclude?.includes(name);
  const without = keysIn(exclude ?? []);
  const fields: HitFields = { text: has('text'), reason: has('match_reason'), without };
  if (exclude?.includes(META)) fields.only = [];
  else if (include && !include.includes(META)) fields.only = keysIn(include);
  return fields;
}

const keysIn = (names: readonly string[]): string[] =>
  names.filter((name) => name.startsWith(KEY_PREFIX)).map((name) => name.slice(KEY_PREFIX.length));
