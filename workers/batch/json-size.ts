// How much memory a JSON text takes once it is parsed, told before it is: V8 parses in one go that nothing can
// interrupt, and a thread that runs out of memory in it may take the process along (src/pool/crew.ts). Used by
// extract/json.ts, in the batch worker.
import { AppError } from '../../src/contract/errors.js';

/** An empty list or a short number in a list; measured: 40 bytes on Node 20. */
const VALUE_BYTES = 48;
const OPENS_OR_PARTS = new Set([...'[{,'].map((character) => character.charCodeAt(0)));

/**
 * Throws AppError `file_unreadable` where the values of `text` would take more than `memoryBytesMax`. Characters in
 * strings count too: an upper bound.
 */
export function checkJsonSize(text: string, memoryBytesMax: number): void {
  if (text.length * VALUE_BYTES <= memoryBytesMax) return;
  let leftValues = (memoryBytesMax - text.length) / VALUE_BYTES;
  for (let i = 0; i < text.length && leftValues >= 0; i++) if (OPENS_OR_PARTS.has(text.charCodeAt(i))) leftValues--;
  if (leftValues < 0) throw new AppError('file_unreadable', 'Reading the JSON takes more memory than a file may.');
}
