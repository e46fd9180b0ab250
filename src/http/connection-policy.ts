// What becomes of a connection after a reply: decided by exchange.ts just before it replies, carried out by reply.ts.
// Pure; front thread.

/**
 * `keep` it; or ask the client to close it (`Connection: close`) while the library swallows what the client still
 * sends: closing at once would reset the connection under a client that reads only after it has written, and lose it
 * the reply; or `close` as soon as the reply is out.
 */
export type Afterwards = 'keep' | 'ask_to_close' | 'close';

/** Bytes of body that the head announces: 0 for none; or chunks, whose sum nobody knows yet. */
export type Announced = number | 'chunked';

export interface BodyProgress {
  readonly hasEnded: boolean;
  readonly receivedBytes: number;
}

/** So much of a body that nobody reads is swallowed without a word. */
const SWALLOWED_BYTES_MAX = 64 * 1024;

/**
 * `announced` is `unclear` where it is not certain where the body ends: what follows it could be a hidden request.
 * `progress` is undefined while nobody listens to the body.
 */
export function afterwardsOf(
  announced: Announced | 'unclear',
  progress: BodyProgress | undefined,
  isDraining: boolean,
): Afterwards {
  if (announced === 'unclear') return 'close';
  const unreadBytes = unreadOf(announced, progress);
  if (unreadBytes === 0) return isDraining ? 'close' : 'keep';
  if (unreadBytes <= SWALLOWED_BYTES_MAX && !isDraining) return 'keep';
  // Chunks that are listened to may come for ever. Those that never were are cut off by the library after 12 s.
  return announced === 'chunked' && progress !== undefined ? 'close' : 'ask_to_close';
}

function unreadOf(announced: Announced, progress: BodyProgress | undefined): number {
  if (progress?.hasEnded) return 0;
  return announced === 'chunked' ? Infinity : announced - (progress?.receivedBytes ?? 0);
}
