// The OpenAPI 3.1 document: one operation per route, generated from the route definitions. Pure.
import { STATUS_CODES } from 'node:http';
import { SERVICE_VERSION } from '../../api/common.js';
import { AppError, type ErrorCode, invalidField } from '../../api/errors.js';
import { MSGPACK_TYPE } from '../../api/msgpack.js';
import { IDEMPOTENCY_KEY_BYTES_MAX } from '../../api/limits.js';
import { PATH_PARAMETERS } from '../../api/parameters.js';
import type { Access, BodyKind, Content, ForeignError, RouteDefinition, Schema, Tag } from '../../api/route.js';
import { assert } from '../../base/assert.js';
import { type Answer, encodeError, encodeReply, statusOf } from '../envelope.js';
import { componentSchemas, mapped, refTo } from './schemas.js';

// The error codes that an operation can return, by status: those of its definition, and those implied by its access,
// body and path. Pure.

const ALWAYS: readonly ErrorCode[] = ['validation_error', 'request_too_large', 'internal_error', 'shutting_down'];

const OF_PARAMETER: Readonly<Record<string, ErrorCode>> = {
  tenant: 'invalid_tenant_name',
  name: 'invalid_collection_name',
  collection: 'invalid_collection_name',
};

const OF_ACCESS: Readonly<Record<Access, readonly ErrorCode[]>> = {
  public: [],
  metrics: ['auth_invalid', 'admin_required', 'overloaded'],
  admin: ['auth_invalid', 'admin_required', 'overloaded', 'not_ready'],
  tenant: ['auth_invalid', 'auth_forbidden', 'overloaded', 'not_ready', 'shard_unavailable'],
  any: ['auth_invalid', 'auth_forbidden', 'overloaded', 'not_ready', 'shard_unavailable'],
};

const COMPRESSED = ['unsupported_content_encoding', 'invalid_content_encoding'] as const;
const OF_JSON: readonly ErrorCode[] = ['invalid_json', ...COMPRESSED];
const OF_BODY: Readonly<Record<BodyKind, readonly ErrorCode[]>> = {
  none: [],
  json: OF_JSON,
  search: OF_JSON,
  message: OF_JSON,
  batch: OF_JSON,
  lines: OF_JSON,
  document: COMPRESSED,
  archive: COMPRESSED,
  any_archive: COMPRESSED,
};

const KEY_CODES: readonly ErrorCode[] = ['invalid_idempotency_key', 'idempotency_key_reused', 'idempotency_key_in_use'];
/** The header of routes that take a key. */
const KEY_PARAMETER = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'A name of the request that the client makes up, such as a UUID. A repetition with the same key is answered what the first request was answered, and writes nothing.',
  schema: { type: 'string', minLength: 1, maxLength: IDEMPOTENCY_KEY_BYTES_MAX },
  example: '8e03978e-40d5-43dd-bc93-6894a57f9324',
} as const;

/** The codes of a route by status, both in ascending order. */
function codesByStatus(route: RouteDefinition): Map<number, ErrorCode[]> {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of [...codesOf(route)].sort()) {
    const status = statusOf(code, route);
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return new Map([...byStatus].sort(([a], [b]) => a - b));
}

function codesOf(route: RouteDefinition): Set<ErrorCode> {
  const parameters = parametersOf(route.path);
  return new Set([
    ...ALWAYS,
    ...OF_ACCESS[route.access],
    ...OF_BODY[route.body],
    ...(route.msgpack ? (['invalid_msgpack'] as const) : []),
    // A path with broken percent-encoding matches no route.
    ...(parameters.length > 0 ? (['not_found'] as const) : []),
    ...(route.takesKey ? KEY_CODES : []),
    ...(route.isLimited ? (['tenant_rate_limited'] as const) : []),
    ...parameters.flatMap((name) => OF_PARAMETER[name] ?? []),
    ...(route.codes ?? []),
  ]);
}

/** The names in a path template. */
function parametersOf(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);
}

// The introduction of the OpenAPI document: conventions, authentication, tags. Constants.

const DESCRIPTION = `A tenant owns collections; a collection holds documents; a document is cut into chunks; a search returns the chunks that are nearest
to a text or a vector, each with its metadata and the reason for its rank.

- **Names.** Slugs of tenants and collections have up to 128 characters of \`A-Z a-z 0-9 . _ -\`. A path is split before it is decoded: write a \`/\` in a document id as \`%2F\`.
- **Successes** in JSON carry \`ok\`, \`latency_ms\` and \`request_id\`. Every answer has \`X-Request-ID\`, taken from the request or generated.
- **Errors** share one envelope with a stable \`code\`. Each status below lists its codes. A 422 has \`detail\`, with an entry for each field that is wrong.
- **Bodies** may be compressed (\`Content-Encoding: gzip\` or \`br\`, or \`zstd\` if the server's Node.js supports it); the limits apply to the decompressed body. JSON has at most
  256 KiB, a search 2 MiB more for its vector, a batch as configured; the text of a search has at most 64 KiB. The request head has at most 16 KiB (431 \`request_head_too_large\`).
- **MessagePack** (\`application/msgpack\`) may take the place of JSON where it is listed below: by \`Content-Type\` for bodies, where a vector may be binary (float32, little-endian),
  and by \`Accept\` for answers, errors among them. Extension types are refused.
- **Query strings** accept only the parameters listed below.
- **Other sites.** A server without keys answers 403 \`auth_forbidden\` to pages of other sites and for host names that are not configured.
- **Other paths** are 404 \`not_found\`, other methods 405 \`method_not_allowed\` with \`Allow\`. HEAD works where GET does.
- **Retries** help for 429 and 503 with \`Retry-After\`: the request has had no effect.
- **Optional fields** of request bodies may be \`null\`, which means absent. Unknown fields are rejected.`;

const SECURITY_SCHEMES = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key, or a signed token if the server accepts tokens.',
  },
  apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'An API key.' },
} as const;

const TAGS: readonly { readonly name: Tag; readonly description: string }[] = [
  { name: 'Search', description: 'Search a collection or the shared scope.' },
  { name: 'Documents', description: 'Documents and their chunks.' },
  { name: 'Collections', description: 'Sets of documents with one vector space and one chunking.' },
  { name: 'Archives', description: 'Backup and restore of a collection, or of everything, as a zip file.' },
  {
    name: 'Logged searches',
    description: "Past searches with their results, and their replay on today's documents.",
  },
  {
    name: 'Reindex jobs',
    description: 'Rebuild the vectors of a collection in another vector space while it is searched.',
  },
  { name: 'Embedders', description: 'Embedders turn texts into vectors.' },
  { name: 'Agents', description: 'Access for agents by the Model Context Protocol.' },
  { name: 'Tenants and keys', description: 'Administration of tenants and their API keys.' },
  { name: 'Health', description: 'Health checks, open to everybody.' },
  { name: 'Metrics', description: 'Counters and latencies of the server.' },
  { name: 'Documentation', description: 'This document, a page that shows it, and the console.' },
];

// The responses of an operation: each success with its body and example, and each error status with its codes as
// examples. The code that encodes real bodies also generates the examples. Pure.

const CLOSING = { latencyMs: 1.204, requestId: '0198c2f1-5d3a-7c1e-9b61-2f4a8d0c7e55' };

const header = (description: string, schema: Schema): object => ({ description, schema });

const HEADERS = {
  'X-Request-ID': header("The request's own id if it is 1 to 128 visible ASCII characters; else a generated one.", {
    type: 'string',
  }),
  'Retry-After': header('Seconds after which the same request may succeed.', { type: 'integer', minimum: 0 }),
  'WWW-Authenticate': header('The required authentication scheme.', { type: 'string' }),
  'X-RateLimit-Limit': header('Requests that may come at once. Absent if no limit is set.', {
    type: 'integer',
    minimum: 0,
  }),
  'X-RateLimit-Remaining': header('Requests that may still come now.', { type: 'integer', minimum: 0 }),
  'X-RateLimit-Reset': header('Seconds until `X-RateLimit-Limit` requests may come again.', {
    type: 'integer',
    minimum: 0,
  }),
  ETag: header('Version of the content. Sent back as `If-None-Match`, it gives 304 while nothing has changed.', {
    type: 'string',
  }),
} as const;
type HeaderName = keyof typeof HEADERS;

function responsesOf(route: RouteDefinition): Record<string, object> {
  const errors = codesByStatus(route);
  const fine = route.successes.map((status) => [status, success(route, status)]);
  const statuses = new Set([...errors.keys(), ...Object.keys(route.foreignErrors ?? {}).map(Number)]);
  const refused = [...statuses]
    .sort((a, b) => a - b)
    .map((status) => [status, clientError(route, status, errors.get(status) ?? [], route.foreignErrors?.[status])]);
  return Object.fromEntries([...fine, ...refused]) as Record<string, object>;
}

/** One example per error for `components.examples`, named by `errorExampleName`. */
function errorExamples(routes: readonly RouteDefinition[]): Record<string, object> {
  const found = new Map<string, object>();
  for (const route of routes) {
    for (const [status, codes] of codesByStatus(route)) {
      for (const code of codes) found.set(errorExampleName(code, status), { value: errorBody(code, route) });
    }
  }
  return Object.fromEntries([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The example name of a code. A code with status 400 has a different body where a route returns it as 422. */
const errorExampleName = (code: ErrorCode, status: number): string =>
  status === 422 && code !== 'validation_error' ? `${code}_422` : code;

function errorBody(code: ErrorCode, route: RouteDefinition): unknown {
  const error =
    code === 'validation_error'
      ? invalidField(['body', 'k'], 'Should be a whole number, at least 1, at most 1000.', 'out_of_range', 0)
      : new AppError(code);
  return parsed(encodeError(error, route, CLOSING));
}

const parsed = ({ body }: Answer): unknown => JSON.parse(new TextDecoder().decode(body));

function success(route: RouteDefinition, status: number): object {
  const headers = headersOf(route, route.successes.includes(304) ? ['ETag'] : []);
  if (status === 304 || route.empty?.includes(status)) return { description: STATUS_CODES[status], headers };
  const content: Record<string, object> = mapped(route.answer, ({ schema, examples }: Content, mediaType) => ({
    schema,
    ...(Object.keys(examples).length > 0 && {
      examples: mapped(examples, (value) => ({
        value:
          mediaType === 'application/json' ? parsed(encodeReply({ status, json: value as object }, CLOSING)) : value,
      })),
    }),
  }));
  return { description: route.summary, headers, content: withMsgpack(route, content) };
}

function clientError(
  route: RouteDefinition,
  status: number,
  codes: readonly ErrorCode[],
  foreign?: ForeignError,
): object {
  const extra: HeaderName[] =
    status === 401 ? ['WWW-Authenticate'] : status === 429 || status === 503 ? ['Retry-After'] : [];
  const own = codes.map((code) => [code, { $ref: `#/components/examples/${errorExampleName(code, status)}` }]);
  const examples = Object.fromEntries([
    ...own,
    ...(foreign ? [['protocol', { value: foreign.example }]] : []),
  ]) as object;
  const schemas = [...(codes.length > 0 ? [refTo('ErrorEnvelope')] : []), ...(foreign ? [foreign.schema] : [])];
  const reasons = [...codes.map((code) => `\`${code}\``), ...(foreign ? [foreign.description] : [])].join(', ');
  return {
    description: `${STATUS_CODES[status]}: ${reasons}.`,
    headers: headersOf(route, extra),
    content: withMsgpack(route, {
      'application/json': { schema: schemas.length === 1 ? schemas[0] : { anyOf: schemas }, examples },
    }),
  };
}

/** Adds MessagePack where the route has it: the same values as in JSON, except that a request may have binary vectors. */
function withMsgpack({ msgpack }: RouteDefinition, content: Record<string, object>): Record<string, object> {
  const ofJson = content['application/json'];
  return msgpack && ofJson ? { ...content, [MSGPACK_TYPE]: { schema: (ofJson as Content).schema } } : content;
}

function headersOf(route: RouteDefinition, extra: readonly HeaderName[]): object {
  const limited: readonly HeaderName[] = route.isLimited
    ? ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset']
    : [];
  const names: readonly HeaderName[] = ['X-Request-ID', ...extra, ...limited];
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

interface OpenApiDocument {
  readonly openapi: string;
  readonly info: object;
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, object>>>>;
}

export function openApiDocument(routes: readonly RouteDefinition[]): OpenApiDocument {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) (paths[route.path] ??= {})[route.method.toLowerCase()] = operationObject(route);
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
      schemas: componentSchemas(routes),
      headers: HEADERS,
      examples: errorExamples(routes),
      securitySchemes: SECURITY_SCHEMES,
    },
  } as OpenApiDocument;
}

function operationObject(route: RouteDefinition): object {
  const parameters = [
    ...pathParameters(route.path),
    ...(route.query ?? []).map((parameter) => ({ in: 'query', ...parameter })),
    ...(route.takesKey ? [KEY_PARAMETER] : []),
  ];
  const description = [route.description, scopeNote(route)].filter(Boolean).join('\n\n');
  return {
    operationId: route.operation,
    tags: [route.tag],
    summary: route.summary,
    ...(description && { description }),
    ...(parameters.length > 0 && { parameters }),
    ...(route.request && { requestBody: requestBody(route, route.request) }),
    responses: responsesOf(route),
    ...(route.access === 'public' && { security: [] }),
  };
}

function pathParameters(path: string): object[] {
  return parametersOf(path).map((name) => {
    assert(PATH_PARAMETERS[name] !== undefined, `path parameter ${name} is not described in src/api/parameters.ts`);
    return { name, in: 'path', required: true, ...PATH_PARAMETERS[name] };
  });
}

function requestBody(route: RouteDefinition, { required, content }: NonNullable<RouteDefinition['request']>): object {
  const bodies: Record<string, object> = mapped(content, ({ schema, examples }) => ({
    schema,
    examples: mapped(examples, (value) => ({ value })),
  }));
  return { required, content: withMsgpack(route, bodies) };
}

function scopeNote({ access, scope }: RouteDefinition): string {
  if (access === 'admin' || access === 'metrics') return 'Requires the admin key.';
  return scope === undefined ? '' : `A key with scopes requires scope \`${scope}\`.`;
}
