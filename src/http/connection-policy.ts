// Decides whether a connection stays open after a reply. Pure. Runs on front threads and on the main thread.

/**
 * `keep`: the connection stays open. `ask_to_close`: the reply has `Connection: close`, and uWebSockets.js discards
 * what the client still sends; closing at once would reset the connection of a client that reads only after it has
 * written, and lose the reply. `close`: the server closes the connection as soon as the reply is sent.
 */
export type Afterwards = 'keep' | 'ask_to_close' | 'close';

/** The announced length of a body in bytes (0: no body), or `chunked` if it is unknown. */
export type Announced = number | 'chunked';

export interface BodyProgress {
  readonly hasEnded: boolean;
  readonly receivedBytes: number;
}

/** Unread body bytes up to this number are discarded without closing the connection. */
export const SWALLOWED_BYTES_MAX = 64 * 1024;

/**
 * The connection policy of a reply. `announced` is `unclear` where the end of the body is ambiguous: the bytes after it
 * could be a smuggled request. `progress` is undefined if nothing reads the body.
 */
export function afterwardsOf(
  announced: Announced | 'unclear',
  progress: BodyProgress | undefined,
  isStopping: boolean,
): Afterwards {
  if (announced === 'unclear') return 'close';
  const unreadBytes = unreadOf(announced, progress);
  if (unreadBytes === 0) return isStopping ? 'close' : 'keep';
  if (unreadBytes <= SWALLOWED_BYTES_MAX && !isStopping) return 'keep';
  // A chunked body with a listener may go on for ever. uWebSockets.js cuts off one without a listener after 12 s.
  return announced === 'chunked' && progress !== undefined ? 'close' : 'ask_to_close';
}

function unreadOf(announced: Announced, progress: BodyProgress | undefined): number {
  if (progress?.hasEnded) return 0;
  return announced === 'chunked' ? Infinity : announced - (progress?.receivedBytes ?? 0);
}
