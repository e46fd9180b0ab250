// The failures of `npm run model`, and which of them a retry may overcome, such as a closed connection or a busy hub.
// Retries wait longer each time, or as long as the hub asks for.
import { DelegateBackoff, handleType, retry } from 'cockatiel';

const RETRIES_MAX = 5;
const WAIT_MS = 500;
const WAIT_MS_MAX = 30_000;
/** The longest wait between retries, even where the hub asks for more. */
const RETRY_AFTER_MS_MAX = 300_000;

/** A failure with a message for the user and an exit code. */
export class Fault extends Error {
  constructor(message, status = 1) {
    super(message);
    this.status = status;
  }
}

/** A failure that a retry does not overcome: the user has to do something first. */
export class Refusal extends Fault {}

/** The hub sends something else than its listing says. Nothing of it is kept. */
export class Mismatch extends Refusal {}

/** A failure that a retry may overcome. */
export class Transient extends Fault {
  constructor(message, retryAfterMs) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

/** Runs `work` again after a Transient, a few times. `note` receives a line for each retry. */
export function retrying(note, work) {
  const policy = retry(handleType(Transient), {
    maxAttempts: RETRIES_MAX,
    backoff: new DelegateBackoff(({ attempt, result }) => waitMs(attempt, result.error)),
  });
  policy.onRetry(({ error, delay }) => note(`${error.message}: trying again in ${(delay / 1000).toFixed(1)} s`));
  return policy.execute(work);
}

function waitMs(attempt, { retryAfterMs }) {
  if (retryAfterMs !== undefined) return Math.min(retryAfterMs, RETRY_AFTER_MS_MAX);
  return Math.min(WAIT_MS * 2 ** (attempt - 1), WAIT_MS_MAX) * (0.75 + Math.random() / 2);
}

/** Error codes of connections that broke or hung, from Node and from its `fetch`. */
const BROKEN = new Set([
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'UND_ERR_SOCKET',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
]);

/** The user's view of a failure of `fetch`, or of reading a body. */
export function networkFault(url, error) {
  if (error instanceof Fault) return error;
  const code = error.cause?.code ?? error.cause?.message ?? error.message;
  const { host } = new URL(url);
  if (BROKEN.has(code)) return new Transient(`the connection to ${host} broke (${code})`);
  return new Refusal(
    `${host} cannot be reached (${code}): is there a network? HF_ENDPOINT is the address of another hub`,
  );
}

/** A Transient if the answer says that the hub is busy, else undefined. */
export function busyFault(url, { status, headers }) {
  if (status !== 408 && status !== 429 && status < 500) return undefined;
  return new Transient(`${new URL(url).host} answers ${status}`, retryAfterMsOf(headers.get('retry-after')));
}

/** The wait of a Retry-After header, which HTTP gives in seconds or as a date. */
function retryAfterMsOf(text) {
  if (text === null) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
