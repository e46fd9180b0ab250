// The OpenAPI 3.1 document: one operation for each route of the table, from the route, the entry of its name in the
// operations tables, and the types. Called once by the endpoint (endpoints/docs.ts), and by tests. Pure.
import { assert } from '../../base/assert.js';
import { SERVICE_VERSION } from '../../contract/version.js';
import type { Route } from '../route.js';
import { parametersOf } from './codes.js';
import { DESCRIPTION, SECURITY_SCHEMES, TAGS } from './introduction.js';
import type { Operation, RequestBody } from './operation.js';
import { OPERATIONS } from './operations.js';
import { PATH_PARAMETERS } from './parameters.js';
import { errorExamples, HEADERS, responsesOf } from './responses.js';
import { mapped } from './schema.js';
import { componentSchemas } from './schemas.js';

export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: object;
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, object>>>>;
}

/** Each route needs an entry in the tables; one without is a fault. */
export function openApiDocument(routes: readonly Route[]): OpenApiDocument {
  const entries = routes.map((route) => [route, entryOf(route)] as const);
  const paths: Record<string, Record<string, object>> = {};
  for (const [route, entry] of entries)
    (paths[route.path] ??= {})[route.method.toLowerCase()] = operationObject(route, entry);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Sheaf',
      version: SERVICE_VERSION,
      summary: 'A multi-tenant text retrieval server.',
      description: DESCRIPTION,
      license: { name: 'Apache 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: TAGS,
    security: Object.keys(SECURITY_SCHEMES).map((name) => ({ [name]: [] })),
    paths,
    components: {
      schemas: componentSchemas(),
      headers: HEADERS,
      examples: errorExamples(entries),
      securitySchemes: SECURITY_SCHEMES,
    },
  } as OpenApiDocument;
}

function entryOf({ operation }: Route): Operation {
  const entry = OPERATIONS[operation];
  assert(entry !== undefined, `operation ${operation} has no entry in src/http/openapi/operations`);
  return entry;
}

function operationObject(route: Route, entry: Operation): object {
  const parameters = [
    ...pathParameters(route.path),
    ...(entry.query ?? []).map((parameter) => ({ in: 'query', ...parameter })),
  ];
  const description = [entry.description, scopeNote(route)].filter(Boolean).join('\n\n');
  return {
    operationId: route.operation,
    tags: [entry.tag],
    summary: entry.summary,
    ...(description && { description }),
    ...(parameters.length > 0 && { parameters }),
    ...(entry.request && { requestBody: requestBody(entry.request) }),
    responses: responsesOf(route, entry),
    ...(route.access === 'public' && { security: [] }),
  };
}

function pathParameters(path: string): object[] {
  return parametersOf(path).map((name) => {
    assert(
      PATH_PARAMETERS[name] !== undefined,
      `path parameter ${name} is not described in src/http/openapi/parameters.ts`,
    );
    return { name, in: 'path', required: true, ...PATH_PARAMETERS[name] };
  });
}

function requestBody({ required, content }: RequestBody): object {
  return {
    required,
    content: mapped(content, ({ schema, examples }) => ({
      schema,
      examples: mapped(examples, (value) => ({ value })),
    })),
  };
}

function scopeNote({ access, scope }: Route): string {
  if (access === 'admin' || access === 'metrics') return 'Wants the admin key.';
  return scope === undefined ? '' : `Wants scope \`${scope}\`, where a key has scopes.`;
}
