// The lines of an answer as they come. Holds one line at a time.
// Called by ingest-stream.ts.
import type { QuietTimer } from './quiet-timer.js';

/** Without their ends; empty ones are left out. Each piece that comes starts the timer anew. */
export async function* linesOf(response: Response, timer: QuietTimer): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const piece of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    timer.restart();
    const lines = (rest + decoder.decode(piece, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield* lines.filter((line) => line !== '');
  }
  if (rest !== '') yield rest;
}
