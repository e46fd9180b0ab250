// What a query string says beside text: flags and numbers. What is neither is refused, or left as text for the
// validation to refuse. Called by the handlers (endpoints/), on the front thread. Pure.
import { invalidField } from '../contract/errors.js';
import type { Request } from './route.js';

/** False where it is absent. Throws 422 for what is neither true nor false. */
export function flag({ query }: Pick<Request, 'query'>, name: string): boolean {
  const wanted = query.get(name)?.toLowerCase() ?? 'false';
  if (['true', '1'].includes(wanted)) return true;
  if (['false', '0'].includes(wanted)) return false;
  throw invalidField(['query', name], 'Should be true or false.', 'bool_parsing', wanted.slice(0, 200));
}

/** All of it, as numbers where `names` say so and they are whole ones. */
export function numbersIn(query: URLSearchParams, ...names: readonly string[]): Record<string, unknown> {
  const values: Record<string, unknown> = Object.fromEntries(query);
  for (const name of names) if (/^-?\d{1,15}$/.test(query.get(name) ?? '')) values[name] = Number(values[name]);
  return values;
}
