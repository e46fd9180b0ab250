// Begins a streamed reply: pulls its first block, so that a failure before it is an ordinary error, and what ends
// within it goes out whole, with a length. Called by exchange.ts on the front thread.
import { type Answer, type Closing, joinedPieces, JSON_TYPE, type StreamedReply } from './envelope.js';
import { PieceBlocks } from './piece-blocks.js';
import type { Reply } from './route.js';

/** How long the first piece waits for others: a stream that is over by then costs no more than a whole reply. */
const FIRST_BLOCK_WAIT_MS = 10;

export function isStreamed(reply: Reply): reply is StreamedReply {
  return 'stream' in reply || 'jsonStream' in reply;
}

/** Rejects with what the stream throws before it has given anything. `closing` is asked for when the stream is over. */
export async function beginStreamed(reply: StreamedReply, closing: () => Closing): Promise<Answer> {
  const { status, headers } = reply;
  const isJson = 'jsonStream' in reply;
  const blocks = new PieceBlocks(isJson ? joinedPieces(status, reply.jsonStream, closing) : reply.stream);
  const { bytes, isLast } = await blocks.next(FIRST_BLOCK_WAIT_MS);
  return {
    status,
    headers,
    contentType: isJson ? JSON_TYPE : reply.contentType,
    body: bytes,
    rest: isLast ? undefined : blocks,
  };
}
