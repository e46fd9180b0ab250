// The id under which a request is known in its reply and in the log. One instance for each server, asked by each
// exchange on the front thread.
import { randomFillSync } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';

const REQUEST_ID_CHARACTERS_MAX = 128;
const UUID_RANDOM_BYTES = 16;
/**
 * Random bytes are drawn for 256 ids at once: with a draw for each, a static GET took 10.1 instead of 8.8 µs
 * (load/http-floor.ts).
 */
const POOL_BYTES = 256 * UUID_RANDOM_BYTES;

export class RequestIds {
  private readonly pool = new Uint8Array(POOL_BYTES);
  private usedBytes = POOL_BYTES;

  /**
   * The caller's id when it is 1 to 128 visible ASCII characters (so that it can be echoed in a header), else a UUIDv7.
   */
  idFor(callersId: string): string {
    return isEchoable(callersId) ? callersId : uuidv7({ random: this.draw() });
  }

  private draw(): Uint8Array {
    if (this.usedBytes === POOL_BYTES) {
      randomFillSync(this.pool);
      this.usedBytes = 0;
    }
    this.usedBytes += UUID_RANDOM_BYTES;
    return this.pool.subarray(this.usedBytes - UUID_RANDOM_BYTES, this.usedBytes);
  }
}

function isEchoable(text: string): boolean {
  if (text.length === 0 || text.length > REQUEST_ID_CHARACTERS_MAX) return false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 0x21 || code > 0x7e) return false;
  }
  return true;
}
