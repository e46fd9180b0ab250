// Makes an arena of what has been read back into its memory from a checkpoint (../checkpoint/README.md): the memory may
// be larger than it was, and nobody reads what had been retired. Owner's thread only, while no reader is inside.
import { FENCE_AT } from '../layout';
import { RETIRED_FIRST_AT, RETIRED_LAST_AT, RETIRED_LINES_AT } from '../reader-layout';
import { LINES_PER_PAGE, setFence } from './arena';
import { addFree, at, giveBack, NEXT, removeFree } from './chunks';

/**
 * `end` is the line behind the last chunk in use: of a free chunk, or of the fence. Requires that the words of the
 * header are those of the image.
 */
export function restoreArena(end: u32): void {
  if (end != load<u32>(FENCE_AT)) removeFree(end);
  const fence = <u32>memory.size() * LINES_PER_PAGE - 1;
  setFence(fence);
  if (fence > end) addFree(end, fence - end);
  freeAllRetired();
}

function freeAllRetired(): void {
  for (let chunk = load<u32>(RETIRED_FIRST_AT); chunk; ) {
    const next = load<u32>(at(chunk), NEXT);
    giveBack(chunk);
    chunk = next;
  }
  store<u32>(RETIRED_FIRST_AT, 0);
  store<u32>(RETIRED_LAST_AT, 0);
  store<u32>(RETIRED_LINES_AT, 0);
}
