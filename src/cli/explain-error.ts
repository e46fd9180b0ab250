// Errors of the command line: one line each, with a remedy. Thrown by the commands of src/cli, shown by program.ts; an error
// that this file cannot explain is a fault of ours and keeps its stack.
import { SheafError, SheafUnreachable } from '../client/errors.js';
import { AppError } from '../contract/errors.js';

/** The user asked for something that cannot be; the message says what and what to do. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** One line for the user, or undefined where the error is a fault of ours and wants its stack. */
export function explainError(error: unknown): string | undefined {
  if (error instanceof UsageError || error instanceof AppError) return error.message;
  if (error instanceof SheafUnreachable) return `${error.message}. Start a server with "npm start", or name another with --url.`;
  if (error instanceof SheafError) return explainAnswer(error);
  return undefined;
}

function explainAnswer({ status, code, message, requestId }: SheafError): string {
  const what = `${message.replace(/[.\s]*$/, '')} (${code}, HTTP ${status}${requestId ? `, request ${requestId}` : ''}).`;
  if (status === 401) return `${what} Give a key with --key or SHEAF_API_KEY.`;
  if (status === 403) return `${what} Take a key of this tenant, or name another tenant with --tenant.`;
  if (status === 429 || status === 503) return `${what} Try again later, or with a smaller --concurrency.`;
  return what;
}
