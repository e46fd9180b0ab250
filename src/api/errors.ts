// Error codes with status and meaning: one table for replies, documentation and tests. `AppError` is the only way to
// raise a client error; it crosses threads as plain data (`toWire`, `fromWire`).

/** `retryable`: whether the same request may succeed later without a change by the caller. */
type CodeEntry = Readonly<{ status: number; meaning: string; retryable: boolean; type?: ErrorType }>;

const entry = (status: number, meaning: string, retryable = false): CodeEntry => ({ status, meaning, retryable });
/** An error because the request contradicts what already exists. */
const conflict = (status: number, meaning: string): CodeEntry => ({ ...entry(status, meaning), type: 'conflict' });

/** All error codes. Where the specification lists no 400 for an endpoint, a status of 400 becomes 422. */
export const ERROR_CODES = {
  validation_error: entry(422, 'A path, query or body field has a wrong type or value; `detail` names each one.'),
  invalid_request: entry(400, 'The head of the request is malformed.'),
  invalid_json: entry(400, 'The body is not JSON.'),
  invalid_msgpack: entry(400, 'The body is not MessagePack, or has extension types or other values that JSON has not.'),
  invalid_document_json: entry(400, 'The JSON of an ingest is malformed or has the wrong shape.'),
  invalid_item: entry(400, 'An item of a batch has the wrong shape.'),
  invalid_csv_options: entry(400, 'The CSV parameters contradict each other or the file.'),
  invalid_multipart: entry(400, 'The multipart body is malformed or cut off.'),
  unsupported_media_type: entry(400, 'The route does not accept this Content-Type.'),
  unsupported_content_encoding: entry(415, 'The server does not support this Content-Encoding of a body.'),
  invalid_content_encoding: entry(400, 'The body does not have its declared Content-Encoding, or is truncated.'),
  missing_document_file: entry(400, 'A multipart ingest has no file.'),
  invalid_tenant_name: entry(400, 'A tenant slug has forbidden characters or is too long.'),
  invalid_collection_name: entry(400, 'A collection slug has forbidden characters or is too long.'),
  invalid_docid: entry(
    400,
    'A document id is empty, longer than 512 bytes of UTF-8, has control characters, or is `.` or `..`.',
  ),
  invalid_display_name: entry(400, 'A display name is empty, longer than 120 characters or has control characters.'),
  invalid_metadata_json: entry(400, 'The metadata form field is not JSON.'),
  invalid_metadata: entry(400, 'Metadata is not a JSON object.'),
  invalid_metadata_keys: entry(400, '`docid` or `ingested_at` in the metadata contradict the real ones.'),
  metadata_too_large: entry(413, 'The metadata of a document is over the limit.'),
  invalid_chunking: entry(400, 'Chunk size or overlap is out of bounds, or given for strategy `none`.'),
  chunk_too_large: entry(400, 'A text is longer than the largest chunk, and the collection does not split texts.'),
  chunking_conflict: conflict(400, 'The collection exists with another chunking.'),
  search_mode_conflict: conflict(400, 'The collection exists with another search mode.'),
  priority_key_conflict: conflict(400, 'The collection exists with another priority key.'),
  collection_settings_conflict: conflict(400, 'The collection exists with other settings.'),
  invalid_embedder_config: entry(400, 'The embedder is not configured, ambiguous, or does not take these options.'),
  collection_changed: entry(
    503,
    'The collection was recreated with other settings meanwhile; send the document again.',
    true,
  ),
  embedder_unavailable: entry(503, 'The embedder does not answer.', true),
  reranker_unavailable: entry(503, 'The reranker does not answer; a search without `rerank` works.', true),
  text_not_embeddable: entry(400, 'The embedder rejects this text.'),
  no_text_extracted: entry(400, 'There is no text to index.'),
  unsupported_or_invalid_document: entry(400, 'The file type is not supported.'),
  file_unreadable: entry(400, 'The file is corrupt, or needs too much time or memory to read.'),
  file_encrypted: entry(400, 'The file is encrypted.'),
  vectors_only: entry(400, 'The collection holds vectors only and takes no text.'),
  dim_mismatch: entry(400, 'The dimensions of the vector differ from those of the collection.'),
  invalid_search_mode: entry(400, 'There is no such search mode.'),
  search_mode_disabled: entry(400, 'The search mode is disabled on this server.'),
  search_mode_requires_text: entry(400, 'Modes boost and hybrid require a text query.'),
  invalid_rerank: entry(400, 'The reranker is not configured, or the search has no text.'),
  vector_query_not_allowed: entry(400, 'The shared scope can only be searched by text.'),
  incompatible_embedder_config: entry(400, 'The common collection has another vector space.'),
  collection_archive_invalid: entry(
    400,
    'The file is not a complete archive of a collection that this server can restore; `details.reason` says why.',
  ),
  archive_invalid: entry(
    400,
    'The file is not a complete archive of a dataset that this server can restore; `details.reason` says why.',
  ),
  missing_archive_file: entry(400, 'A restore has no file.'),
  backups_off: entry(409, 'The server makes no backups; `backups` in its configuration says where they are kept.'),
  backup_not_found: entry(404, 'There is no such backup.'),
  backup_failed: entry(
    503,
    'The folder or bucket of the backups does not answer; the log of the server says why.',
    true,
  ),
  move_invalid: entry(400, 'A collection cannot be renamed to its own name.'),
  collection_exists: entry(409, 'The collection exists; PUT replaces it.'),
  collection_conflict: entry(409, 'A collection of the new name exists.'),
  reindex_conflict: entry(409, 'The collection has an unfinished reindex job, or is being rolled back.'),
  reindex_state_conflict: entry(409, 'The state of the reindex job or of the collection does not allow the operation.'),
  reindex_invalid: entry(
    400,
    'The reindex is impossible: the vector space is the same, the collection holds vectors only or chunks without text, or the embedder is unknown.',
  ),
  reindex_gate_failed: entry(409, 'The new vector space finds too few of the hits that searches find today.'),
  reindex_job_not_found: entry(404, 'The collection has no such reindex job.'),
  tenant_exists: entry(409, 'The tenant exists.'),
  tenant_not_empty: entry(409, 'The tenant still has collections; `?force=true` deletes them.'),
  collection_not_found: entry(404, 'There is no such collection.'),
  query_not_found: entry(404, 'There is no such logged search.'),
  alias_conflict: entry(
    409,
    'A collection has this name, so it cannot be an alias, or an alias has the name of the collection.',
  ),
  alias_not_found: entry(404, 'There is no such alias.'),
  alias_limit_reached: entry(429, 'The tenant has reached its limit of aliases; delete one.'),
  collection_has_aliases: entry(
    409,
    'Aliases stand for the collection; `details.aliases` names them. Delete them or switch them to another collection first.',
  ),
  judgement_set_not_found: entry(404, 'The collection has no such judgement set.'),
  judgement_set_limit_reached: entry(429, 'The collection has reached its limit of judgement sets; delete one.'),
  tenant_not_found: entry(404, 'There is no such tenant.'),
  key_not_found: entry(404, 'The tenant has no such key.'),
  key_limit_reached: entry(409, 'The tenant has reached its limit of keys; revoke one.'),
  document_not_found: entry(404, 'There is no such document.'),
  version_conflict: entry(
    409,
    'The document has another version than `if_version`; `details.version` is the stored one, 0 for none.',
  ),
  invalid_idempotency_key: entry(
    400,
    'The header `Idempotency-Key` should be 1 to 255 visible ASCII characters, in quotes or without.',
  ),
  idempotency_key_reused: entry(
    422,
    'Another request came with this `Idempotency-Key`; give each request a key of its own, and the same key only to its repetitions.',
  ),
  idempotency_key_in_use: entry(
    409,
    'A request with this `Idempotency-Key` is under way; send it again after `Retry-After` seconds.',
    true,
  ),
  chunk_not_found: entry(404, 'There is no such chunk.'),
  chunk_content_not_found: entry(404, 'The chunk was ingested as a vector and has no text.'),
  not_found: entry(404, 'There is no such route.'),
  method_not_allowed: entry(405, 'The route does not take this method; `Allow` names those it takes.'),
  request_too_large: entry(413, 'The body is over the limit.'),
  request_head_too_large: entry(431, 'The path, the query and the headers together are over the limit.'),
  archive_too_large: entry(413, 'The archive is over the limit.'),
  file_too_large: entry(413, 'The file is over the limit.'),
  auth_invalid: entry(401, 'The request has no key, or an unknown, expired or revoked one.'),
  auth_forbidden: entry(403, 'The key belongs to another tenant or lacks the scope.'),
  admin_required: entry(403, 'The route requires the admin key.'),
  tenant_rate_limited: entry(429, 'The tenant sends too many requests; try again after `Retry-After` seconds.', true),
  collection_limit_reached: entry(429, 'The tenant has reached its limit of collections.'),
  chunk_limit_reached: entry(429, 'The collection has reached its limit of chunks.'),
  overloaded: entry(503, 'The server is overloaded; try again after `Retry-After` seconds.', true),
  shard_unavailable: entry(503, 'A shard is being rebuilt; try again after `Retry-After` seconds.', true),
  log_unavailable: entry(
    503,
    'The command log of the cluster does not answer. Whether the write is made is not known: send it again with the same `Idempotency-Key`.',
    true,
  ),
  node_behind: entry(
    503,
    'This node has not applied yet what the token in `X-Consistency` tells of; try again, or another node.',
    true,
  ),
  cluster_fenced: entry(
    503,
    'This node takes no writes, because the command log contradicts its data; `details.reason` says how. Reads go on.',
    true,
  ),
  shutting_down: entry(503, 'The server is shutting down.', true),
  not_ready: entry(503, 'Storage or embedders are not ready yet.', true),
  storage_full: entry(503, 'The disk is full; reads still work.', true),
  storage_failed: entry(503, 'The disk fails to write data or to read uploaded data; other reads still work.', true),
  collection_damaged: entry(
    503,
    'Records of the collection are damaged on disk; `sheaf check` lists them. Other collections are not affected.',
  ),
  ingest_failed: entry(500, 'The ingest failed because of an internal error; nothing was changed.'),
  archive_failed: entry(500, 'The archive cannot be written, because records of the collection are damaged.'),
  search_failed: entry(500, 'The search failed because of an internal error.'),
  internal_error: entry(500, 'An internal error of the server.'),
} as const satisfies Record<string, CodeEntry>;

export type ErrorCode = keyof typeof ERROR_CODES;
export type ErrorType = 'invalid' | 'not_found' | 'conflict' | 'unavailable';

/** One entry of `detail` in a 422. */
export interface ValidationDetail {
  loc: (string | number)[];
  msg: string;
  type: string;
  ctx?: Record<string, unknown>;
  input?: unknown;
}

export interface AppErrorOptions {
  details?: Record<string, unknown>;
  detail?: ValidationDetail[];
  retryAfterS?: number;
  /** Additional response headers, such as `Allow`. */
  headers?: Record<string, string>;
  /** For `collection_damaged`, between threads: the id of the collection. */
  collection?: number;
}

export interface WireError extends AppErrorOptions {
  code: ErrorCode;
  message: string;
}

export class AppError extends Error {
  override readonly name = 'AppError';
  constructor(
    readonly code: ErrorCode,
    message?: string,
    readonly options: AppErrorOptions = {},
  ) {
    super(message ?? ERROR_CODES[code].meaning);
  }

  toWire(): WireError {
    return { code: this.code, message: this.message, ...this.options };
  }

  static fromWire({ code, message, ...options }: WireError): AppError {
    return new AppError(code, message, options);
  }
}

/** Creates a 422 `validation_error` about one field. */
export function invalidField(loc: (string | number)[], msg: string, type: string, input?: unknown): AppError {
  return new AppError('validation_error', `${loc.join('.')}: ${msg}`, {
    detail: [{ loc, msg, type, ...(input === undefined ? {} : { input }) }],
  });
}

/** The error class by which clients choose an exception; undefined for internal errors. */
export function errorTypeOf(code: ErrorCode): ErrorType | undefined {
  const { status, type }: CodeEntry = ERROR_CODES[code];
  if (type !== undefined) return type;
  if (status === 404) return 'not_found';
  if (status === 409) return 'conflict';
  if (status === 429 || status === 503) return 'unavailable';
  return status < 500 ? 'invalid' : undefined;
}

/** The result of a command: a value, a client error, or an internal error for the log. */
export type Result<T> = { value: T } | { error: WireError } | { internalError: string };

export const shardUnavailable = (): AppError => new AppError('shard_unavailable', undefined, { retryAfterS: 1 });

/** The error with which a request rejects if its client has disconnected. */
export const abandoned = (): AppError =>
  new AppError('internal_error', 'The client does not wait for an answer any more.');

/** How AppErrors cross between threads (src/base/rpc.ts). */
export const ERROR_CODEC = {
  toWire: (error: unknown): WireError | undefined => (error instanceof AppError ? error.toWire() : undefined),
  fromWire: (wire: object): AppError => AppError.fromWire(wire as WireError),
  abandoned,
};
