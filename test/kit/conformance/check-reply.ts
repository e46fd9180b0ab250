// Checks what holds for every reply of the server, whatever the endpoint: the envelope, the request id, the latency,
// the headers of client errors, and that the reply shows nothing of the server's inside. The functions return
// complaints, so that a test can show all of them at once.
import { isDeepStrictEqual } from 'node:util';
import { ERROR, type Shape, UUID_V7, VALIDATION_ERROR, misfits } from './shapes.js';
import type { Reply } from './stage.js';

/** The error class by which clients choose their exception, by status. */
const ERROR_TYPES: Readonly<Record<number, string>> = {
  404: 'not_found',
  409: 'conflict',
  429: 'unavailable',
  503: 'unavailable',
};
/** Codes of errors after which the same request succeeds later; they carry Retry-After. */
const COMES_BACK = ['tenant_rate_limited', 'overloaded', 'shutting_down', 'shard_unavailable'];
/** Traces of the server's inside: stack traces, paths of this machine, messages of libraries. */
const INSIDE = [
  /(\n|\\n)\s*at [^"\n]{1,200}:\d+:\d+/,
  /node_modules/,
  /\.(js|ts):\d+/,
  /\/(tmp|home|root|usr|opt|var|work)\//,
  /MDB_|SQLITE|ENOENT|EACCES|ECONN|ERR_[A-Z]/,
  /typia|busboy|piscina|lmdb|uWebSockets/i,
  /\bTypeError|\bRangeError|\bSyntaxError|in JSON at position|Unexpected token/,
];

/** Complaints about a reply. `answer` is the shape of a success, or the start of its content type. */
export function replyComplaints(reply: Reply, answer: Shape | string): string[] {
  const { status, headers, json } = reply;
  const common = [...idComplaints(reply), ...leakComplaints(reply)];
  if (status >= 400) return [...common, ...errorComplaints(reply)];
  const type = headers.get('content-type') ?? '';
  if (typeof answer === 'string')
    return [...common, ...(type.startsWith(answer) ? [] : [`content type should be ${answer}, is ${type}`])];
  return [...common, ...jsonTypeComplaints(type), ...misfits(json, answer), ...latencyComplaints(reply)];
}

function errorComplaints(reply: Reply): string[] {
  const { status, headers, json } = reply;
  const complaints = [
    ...jsonTypeComplaints(headers.get('content-type') ?? ''),
    ...misfits(json, status === 422 ? VALIDATION_ERROR : ERROR),
    ...latencyComplaints(reply),
  ];
  const type = status < 500 || status === 503 ? (ERROR_TYPES[status] ?? 'invalid') : undefined;
  if (json.error_type !== type) complaints.push(`error_type should be ${type} with ${status}, is ${json.error_type}`);
  if (status === 422 && !isDeepStrictEqual(json.details?.errors, json.detail))
    complaints.push('details.errors is not the same list as detail');
  if (status === 422 && json.detail?.length === 0) complaints.push('detail names no field');
  if (status === 401 && !headers.has('www-authenticate')) complaints.push('401 without WWW-Authenticate');
  if (status === 405 && !headers.has('allow')) complaints.push('405 without Allow');
  if (COMES_BACK.includes(json.code) && !/^[1-9]\d*$/.test(headers.get('retry-after') ?? ''))
    complaints.push(`${json.code} without Retry-After`);
  return complaints;
}

const jsonTypeComplaints = (type: string): string[] =>
  /^application\/json\b/.test(type) ? [] : [`content type should be application/json, is ${type}`];

function idComplaints({ headers, json, sentId }: Reply): string[] {
  const id = headers.get('x-request-id') ?? '';
  const complaints =
    sentId === undefined
      ? UUID_V7.test(id)
        ? []
        : [`X-Request-ID should be a UUIDv7, is ${id}`]
      : id === sentId
        ? []
        : [`X-Request-ID should be ${sentId}, is ${id}`];
  return json.request_id === undefined || json.request_id === id
    ? complaints
    : [...complaints, `request_id is ${json.request_id}, the header ${id}`];
}

function latencyComplaints({ json, elapsedMs }: Reply): string[] {
  return json.latency_ms >= 0 && json.latency_ms <= elapsedMs
    ? []
    : [`latency_ms is ${json.latency_ms} of ${elapsedMs} ms seen from outside`];
}

/**
 * What a reply shows of the server's inside. The text of a chunk and what the caller sent are exempt: they may hold
 * anything.
 */
export function leakComplaints(
  { text, headers }: Pick<Reply, 'text' | 'headers'>,
  secrets: readonly string[] = [],
): string[] {
  // uWebSockets.js adds a header with its name and version, which cannot be turned off.
  const all = `${[...headers]
    .filter(([name]) => name !== 'uwebsockets')
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')}\n${text}`;
  const shown = INSIDE.flatMap((pattern) => pattern.exec(all)?.[0] ?? []);
  return [...shown, ...secrets.filter((secret) => all.includes(secret))].map(
    (what) => `the answer shows ${JSON.stringify(what)}`,
  );
}
