// Which error codes an operation can answer, and with which status: those of its table entry, and those that follow
// from who may call it, what its body is and what stands in its path. Called by responses.ts. Pure.
import { ERROR_CODES, type ErrorCode } from '../../contract/errors.js';
import type { Route } from '../route.js';
import type { Operation } from './operation.js';

const ALWAYS: readonly ErrorCode[] = ['validation_error', 'request_too_large', 'internal_error', 'shutting_down'];

const OF_PARAMETER: Readonly<Record<string, ErrorCode>> = {
  tenant: 'invalid_tenant_name',
  name: 'invalid_collection_name',
  collection: 'invalid_collection_name',
};

const OF_ACCESS: Readonly<Record<Route['access'], readonly ErrorCode[]>> = {
  public: [],
  metrics: ['auth_invalid', 'admin_required', 'overloaded'],
  admin: ['auth_invalid', 'admin_required', 'overloaded', 'not_ready'],
  tenant: ['auth_invalid', 'auth_forbidden', 'overloaded', 'not_ready', 'shard_unavailable'],
  any: ['auth_invalid', 'auth_forbidden', 'overloaded', 'not_ready', 'shard_unavailable'],
};

const COMPRESSED = ['unsupported_content_encoding', 'invalid_content_encoding'] as const;
const OF_JSON: readonly ErrorCode[] = ['invalid_json', ...COMPRESSED];
const OF_BODY: Readonly<Record<Route['body'], readonly ErrorCode[]>> = {
  none: [],
  json: OF_JSON,
  search: OF_JSON,
  message: OF_JSON,
  lines: OF_JSON,
  document: COMPRESSED,
  archive: COMPRESSED,
  any_archive: COMPRESSED,
};

/** The codes by status, both in rising order. */
export function codesByStatus(route: Route, operation: Operation): Map<number, ErrorCode[]> {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of [...codesOf(route, operation)].sort()) {
    const status = statusOf(code, route);
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return new Map([...byStatus].sort(([a], [b]) => a - b));
}

/** Where the specification lists no 400 for a route, it answers 422. */
export function statusOf(code: ErrorCode, { statuses }: Pick<Route, 'statuses'>): number {
  const { status } = ERROR_CODES[code];
  return status === 400 && !statuses.includes(400) ? 422 : status;
}

function codesOf(route: Route, { codes = [] }: Operation): Set<ErrorCode> {
  const parameters = parametersOf(route.path);
  return new Set([
    ...ALWAYS,
    ...OF_ACCESS[route.access],
    ...OF_BODY[route.body],
    // A path with broken percent-encoding is no route's.
    ...(parameters.length > 0 ? (['not_found'] as const) : []),
    ...(route.statuses.includes(429) ? (['tenant_rate_limited'] as const) : []),
    ...parameters.flatMap((name) => OF_PARAMETER[name] ?? []),
    ...codes,
  ]);
}

/** The names in a path template. */
export function parametersOf(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);
}
