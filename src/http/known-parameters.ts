// Refuses parameters of a query string that an operation does not have, as unknown fields of bodies are: one that is
// misspelt, or that only a body can have, would otherwise be passed over, and more found than was asked for. Which there
// are stands in the operation's entry of the OpenAPI document. Pages, and routes that
// answer no 422, take any. The table is marked by routes.ts, a
// request checked by visit.ts.
import { AppError, type ValidationDetail } from '../contract/errors.js';
import { OPERATIONS } from './openapi/operations.js';
import type { Route } from './route.js';

const NAME_CHARACTERS_MAX = 100;
const DETAILS_MAX = 20;

/** The same route, with the parameters that it has. */
export function withKnownParameters(route: Route): Route {
  if (route.access === 'public' || !route.statuses.includes(422)) return route;
  return { ...route, parameters: new Set(OPERATIONS[route.operation]?.query?.map(({ name }) => name)) };
}

/** Throws a 422 that names the parameters that the route does not have. */
export function checkParameters({ parameters }: Route, query: URLSearchParams): void {
  if (parameters === undefined) return;
  const unknown = new Set([...query.keys()].filter((name) => !parameters.has(name)));
  if (unknown.size > 0) throw refusalOf([...unknown]);
}

function refusalOf(names: readonly string[]): AppError {
  const told = names.slice(0, DETAILS_MAX).map((name) => name.slice(0, NAME_CHARACTERS_MAX));
  const detail = told.map((name): ValidationDetail => {
    const loc = ['query', name];
    return { loc, msg: 'There is no such parameter.', type: 'extra_forbidden' };
  });
  return new AppError('validation_error', `There is no such parameter: ${told.join(', ')}.`, { detail });
}
