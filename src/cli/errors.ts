// Errors of the command line: one line each, with a remedy. An error that this file cannot explain is an internal error
// and keeps its stack trace.
import { SheafError, SheafUnreachable } from '../client/errors.js';
import { UnaddressableId } from '../client/url.js';
import { AppError, type ErrorCode } from '../api/errors.js';

/** The user requested something impossible. The message says what, and what to do. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The command line is valid, but this machine failed to do it. The message says what, and what to do. */
export class LocalFailure extends Error {
  override readonly name = 'LocalFailure';
}

/** One line for the user; undefined for an internal error, which is shown with its stack trace. */
export function explainError(error: unknown): string | undefined {
  if (error instanceof UsageError || error instanceof LocalFailure || error instanceof AppError) return error.message;
  if (error instanceof UnaddressableId) return `${error.message} Name another.`;
  if (error instanceof SheafUnreachable)
    return `${error.message}. Start a server with "npm start", or name another with --url or SHEAF_URL.`;
  if (error instanceof SheafError) return explainAnswer(error);
  // A system error that no command explains better, such as too many open files.
  if (error instanceof Error && 'syscall' in error) return `${error.message}.`;
  return undefined;
}

/** Remedies by error code; errors with other codes are shown without one. */
const REMEDIES: Readonly<Partial<Record<ErrorCode, string>>> = {
  auth_invalid: 'Provide a key with --key or SHEAF_API_KEY.',
  auth_forbidden: 'Use a key of this tenant, or name another tenant with --tenant.',
  admin_required: 'Use the admin key: auth.admin_key, or the file admin.key in the data directory.',
  collection_not_found: 'sheaf collections lists the existing ones.',
  document_not_found: 'sheaf docs lists the existing ones.',
  query_not_found: 'sheaf log lists the existing ones.',
  tenant_not_found: 'sheaf keys make -t TENANT --new-tenant creates one.',
  key_not_found: 'sheaf keys lists the existing ones.',
  reindex_job_not_found: 'sheaf reindex lists the existing ones.',
  reindex_conflict: 'sheaf reindex shows the job.',
  collection_exists: 'Use --replace to replace it.',
  collection_conflict: 'Choose another name.',
  tenant_exists: 'Omit --new-tenant.',
  invalid_embedder_config: 'GET /v1/embedders/TENANT lists the embedders of the server.',
  invalid_rerank: 'Omit --rerank, or name one of rerank.instances in the configuration of the server.',
  vectors_only: 'Search it by vector through the HTTP API (field v).',
  storage_full: 'Free space on the disk of the server.',
};

function explainAnswer({ status, code, message, requestId }: SheafError): string {
  const what = `${message.replace(/[.\s]*$/, '')} (${code}, HTTP ${status}${requestId ? `, request ${requestId}` : ''}).`;
  const remedy =
    REMEDIES[code as ErrorCode] ??
    (status === 429 || status === 503
      ? 'Try again later, or with less at a time (--concurrency, --connections).'
      : undefined);
  return remedy === undefined ? what : `${what} ${remedy}`;
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or folder',
  ENOTDIR: 'no such file or folder',
  EISDIR: 'it is a folder',
  EACCES: 'no permission',
  EPERM: 'no permission',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota of the disk is used up',
  EMFILE: 'too many files are open',
};

/** The meaning of a failed file system call in words, if it is a common one. */
export function reasonOf(error: NodeJS.ErrnoException): string {
  return REASONS[error.code ?? ''] ?? error.code ?? error.message;
}
