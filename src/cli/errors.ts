// Errors of the command line: one line each, with a remedy. An error that this file cannot explain is a fault of ours and
// keeps its stack.
import { SheafError, SheafUnreachable } from '../client/errors.js';
import { UnaddressableId } from '../client/url.js';
import { AppError, type ErrorCode } from '../api/errors.js';

/** The user asked for something that cannot be; the message says what and what to do. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The command line is right, and the machine that it runs on did not do it; the message says what and what to do. */
export class LocalFailure extends Error {
  override readonly name = 'LocalFailure';
}

/** One line for the user, or undefined where the error is a fault of ours and wants its stack. */
export function explainError(error: unknown): string | undefined {
  if (error instanceof UsageError || error instanceof LocalFailure || error instanceof AppError) return error.message;
  if (error instanceof UnaddressableId) return `${error.message} Name another.`;
  if (error instanceof SheafUnreachable)
    return `${error.message}. Start a server with "npm start", or name another with --url or SHEAF_URL.`;
  if (error instanceof SheafError) return explainAnswer(error);
  // What the system refused, where no command has better words for it: too many open files, say.
  if (error instanceof Error && 'syscall' in error) return `${error.message}.`;
  return undefined;
}

/** What to do about codes that a command can meet; others are told as they are. */
const REMEDIES: Readonly<Partial<Record<ErrorCode, string>>> = {
  auth_invalid: 'Give a key with --key or SHEAF_API_KEY.',
  auth_forbidden: 'Take a key of this tenant, or name another tenant with --tenant.',
  admin_required: 'Take the admin key: auth.admin_key, or the file admin.key in the data directory.',
  collection_not_found: 'sheaf collections lists what there is.',
  document_not_found: 'sheaf docs lists what there is.',
  query_not_found: 'sheaf log lists what there is.',
  tenant_not_found: 'sheaf keys make -t TENANT --new-tenant makes one.',
  key_not_found: 'sheaf keys lists what there is.',
  reindex_job_not_found: 'sheaf reindex lists what there is.',
  reindex_conflict: 'sheaf reindex shows the job.',
  collection_exists: 'Say --replace to put it in its place.',
  collection_conflict: 'Choose another name.',
  tenant_exists: 'Leave --new-tenant out.',
  invalid_embedder_config: 'GET /v1/embedders/TENANT lists the embedders of the server.',
  invalid_rerank: 'Leave --rerank out, or name one of rerank.instances in the configuration of the server.',
  vectors_only: 'It holds vectors: search it through the interface, with v.',
  storage_full: 'Make room on the disk of the server.',
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

/** What a failed file system call means, in words where it is a usual one. */
export function reasonOf(error: NodeJS.ErrnoException): string {
  return REASONS[error.code ?? ''] ?? error.code ?? error.message;
}
