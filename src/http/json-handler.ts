// The handler of a JSON route: it checks path, query string and body, in this order, and calls the use case. Runs on
// front threads and on the main thread.
import { asCollectionName, asTenant } from '../api/ids.js';
import type { Parameter, RouteDefinition } from '../api/route.js';
import { assert } from '../base/assert.js';
import type { Caller } from '../service/use-case.js';
import { fitting, parseJson } from './json-body.js';
import { type Handler, type Request, flag, numbersIn } from './route.js';

/** Any use case; `UseCases` has the exact input types. */
export type UseCase = (input: never, caller: Caller) => object | Promise<object>;

export function jsonHandler(route: RouteDefinition, useCase: UseCase | undefined): Handler {
  assert(route.json !== undefined && useCase !== undefined, `${route.operation} has neither a use case nor a handler`);
  const { checkQuery, checkBody, orNothing } = route.json;
  const {
    query: parameters = [],
    successes: [status = 200],
    request: { required = false } = {},
  } = route;
  return async (request) => {
    const input: Record<string, unknown> = idsIn(request.params);
    if (checkQuery) input.query = fitting(checkQuery(valuesIn(request, parameters)), 'query');
    if (checkBody) {
      const value = parseJson(await request.body.bytes(), orNothing || !required);
      input.body = fitting(checkBody(orNothing ? (value ?? {}) : value), 'body');
    }
    return { status, json: await useCase(input as never, request) };
  };
}

/** Checks the slugs among the path parameters. Throws 400 for an invalid slug. */
function idsIn(params: Request['params']): Record<string, unknown> {
  const ids: Record<string, unknown> = { ...params };
  if (params.tenant !== undefined) ids.tenant = asTenant(params.tenant);
  for (const name of ['name', 'collection', 'alias', 'set'])
    if (params[name] !== undefined) ids[name] = asCollectionName(params[name]);
  return ids;
}

/** Converts query parameters to numbers and booleans as their schemas say; others stay strings. */
function valuesIn(request: Request, parameters: readonly Parameter[]): Record<string, unknown> {
  const named = (type: string): string[] =>
    parameters.filter(({ schema }) => schema.type === type).map(({ name }) => name);
  const values = numbersIn(request.query, ...named('integer'));
  for (const name of named('boolean')) values[name] = flag(request, name);
  return values;
}
