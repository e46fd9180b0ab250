// The responses of an operation: a success with its body and example, and each status an error of it can have, with the
// codes as examples. The examples are made by the envelope that makes the real bodies. Called by document.ts. Pure.
import { STATUS_CODES } from 'node:http';
import { AppError, invalidField, type ErrorCode } from '../../contract/errors.js';
import { encodeError, encodeReply, type Answer } from '../envelope.js';
import type { Route } from '../route.js';
import { codesByStatus } from './codes.js';
import type { Content, ForeignRefusal, Operation } from './operation.js';
import { mapped, refTo, type Schema } from './schema.js';

const CLOSING = { latencyMs: 1.204, requestId: '0198c2f1-5d3a-7c1e-9b61-2f4a8d0c7e55' };

const header = (description: string, schema: Schema): object => ({ description, schema });

export const HEADERS = {
  'X-Request-ID': header("The request's own, where it is 1 to 128 visible ASCII characters; else one made here.", {
    type: 'string',
  }),
  'Retry-After': header('Seconds after which the same request may succeed.', { type: 'integer', minimum: 0 }),
  'WWW-Authenticate': header('The scheme that is wanted.', { type: 'string' }),
  'X-RateLimit-Limit': header('Requests that may come at once. Absent where no limit is set.', {
    type: 'integer',
    minimum: 0,
  }),
  'X-RateLimit-Remaining': header('Requests that may come now.', { type: 'integer', minimum: 0 }),
  'X-RateLimit-Reset': header('Seconds until all may come again.', { type: 'integer', minimum: 0 }),
  ETag: header(
    'Name of this very content; sent back as `If-None-Match`, it is answered 304 while nothing has changed.',
    { type: 'string' },
  ),
} as const;
type HeaderName = keyof typeof HEADERS;

export function responsesOf(route: Route, operation: Operation): Record<string, object> {
  const errors = codesByStatus(route, operation);
  const fine = route.statuses
    .filter((status) => status < 400)
    .map((status) => [status, success(route, operation, status)]);
  const statuses = new Set([...errors.keys(), ...Object.keys(operation.foreignRefusals ?? {}).map(Number)]);
  const refused = [...statuses]
    .sort((a, b) => a - b)
    .map((status) => [status, refusal(route, status, errors.get(status) ?? [], operation.foreignRefusals?.[status])]);
  return Object.fromEntries([...fine, ...refused]) as Record<string, object>;
}

/** Examples of every error, by the name `errorExampleName` gives; for `components.examples`. */
export function errorExamples(routes: readonly (readonly [Route, Operation])[]): Record<string, object> {
  const found = new Map<string, object>();
  for (const [route, operation] of routes) {
    for (const [status, codes] of codesByStatus(route, operation)) {
      for (const code of codes) found.set(errorExampleName(code, status), { value: errorBody(code, route.statuses) });
    }
  }
  return Object.fromEntries([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** A code with status 400 has another body where it is answered 422. */
const errorExampleName = (code: ErrorCode, status: number): string =>
  status === 422 && code !== 'validation_error' ? `${code}_422` : code;

function errorBody(code: ErrorCode, statuses: readonly number[]): unknown {
  const error =
    code === 'validation_error'
      ? invalidField(['body', 'k'], 'Should be a whole number, at least 1, at most 1000.', 'out_of_range', 0)
      : new AppError(code);
  return parsed(encodeError(error, statuses, CLOSING));
}

const parsed = ({ body }: Answer): unknown => JSON.parse(new TextDecoder().decode(body));

function success(route: Route, operation: Operation, status: number): object {
  const headers = headersOf(route, route.statuses.includes(304) ? ['ETag'] : []);
  if (status === 304 || operation.empty?.includes(status)) return { description: STATUS_CODES[status], headers };
  const content = mapped(operation.answer, ({ schema, examples }: Content, mediaType) => ({
    schema,
    ...(Object.keys(examples).length > 0 && {
      examples: mapped(examples, (value) => ({
        value:
          mediaType === 'application/json' ? parsed(encodeReply({ status, json: value as object }, CLOSING)) : value,
      })),
    }),
  }));
  return { description: operation.summary, headers, content };
}

function refusal(route: Route, status: number, codes: readonly ErrorCode[], foreign?: ForeignRefusal): object {
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
    content: { 'application/json': { schema: schemas.length === 1 ? schemas[0] : { anyOf: schemas }, examples } },
  };
}

function headersOf(route: Route, extra: readonly HeaderName[]): object {
  const limited: readonly HeaderName[] = route.statuses.includes(429)
    ? ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset']
    : [];
  const names: readonly HeaderName[] = ['X-Request-ID', ...extra, ...limited];
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
