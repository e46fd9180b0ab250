// What can go wrong with a call of another machine, and what is to be done about it. Thrown by post-json.ts and by what
// reads the answers; never leaves the worker: clients are told `embedder_unavailable` alone. Embed worker of role
// remote.

/**
 * `transient`: the same call may succeed later. `refused`: the endpoint does not take this body; another one it may.
 * `broken`: neither, until somebody changes its configuration or ours.
 */
export type CallFault = 'transient' | 'refused' | 'broken';

export class CallError extends Error {
  override readonly name = 'CallError';

  constructor(
    readonly fault: CallFault,
    message: string,
    /** When the endpoint asked to be called again. */
    readonly retryAfterMs = 0,
  ) {
    super(message);
  }
}

const REFUSED: ReadonlySet<number> = new Set([400, 413, 422]);
/** Beside all of 5xx. OpenAI's own clients try 408, 409 and 429 again; 425 says so by its name (RFC 8470). */
const TRANSIENT: ReadonlySet<number> = new Set([408, 409, 425, 429]);

export function faultOfStatus(status: number): CallFault {
  if (REFUSED.has(status)) return 'refused';
  return status >= 500 || TRANSIENT.has(status) ? 'transient' : 'broken';
}
