// The hashed half's features: a word and its character 4-grams, each hashed to one of 256 buckets and a sign. It keeps
// names, numbers, code and other languages findable. Source: Weinberger et al., "Feature hashing" (2009). Embed workers
// only.

export const BUCKETS = 256;
const GRAM_CHARACTERS = 4;
/** Marks a 4-gram, so that it never hashes as the word of the same letters. */
const GRAM_MARK = '#'.charCodeAt(0);
const CONTINUATION_BYTE = 0x80;

/** A bucket and a sign in one number: `slot >> 1` is the bucket, an odd slot adds, an even one subtracts. */
export type Slot = number;

export interface WordSlots {
  readonly word: Slot;
  /** One for each 4-gram of `^word$`, repeats kept. */
  readonly grams: readonly Slot[];
}

export function hashWord(word: string): WordSlots {
  const bytes = Buffer.from(`^${word}$`);
  const starts = characterStarts(bytes);
  const grams: Slot[] = [];
  const marked = crcStep(-1, GRAM_MARK);
  for (let first = 0; first + GRAM_CHARACTERS < starts.length; first++) {
    grams.push(slotOf(crcOver(marked, bytes, starts[first]!, starts[first + GRAM_CHARACTERS]!)));
  }
  return { word: slotOf(crcOver(-1, bytes, 1, bytes.length - 1)), grams };
}

/** The byte offset at which each character of UTF-8 `bytes` starts, and the length at the end. */
function characterStarts(bytes: Uint8Array): number[] {
  const starts: number[] = [];
  for (let at = 0; at < bytes.length; at++) {
    if ((bytes[at]! & 0xc0) !== CONTINUATION_BYTE) starts.push(at);
  }
  starts.push(bytes.length);
  return starts;
}

/** Takes the bits (h & 1) and (h >> 1) % 256 of the CRC-32 h that `state`, its complement, stands for. */
function slotOf(state: number): Slot {
  return ~state & (2 * BUCKETS - 1);
}

// CRC-32 (IEEE 802.3, reflected), as zlib computes it; zlib.crc32 itself came to Node only with 20.15.
const CRC_TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});

function crcStep(state: number, byte: number): number {
  return (state >>> 8) ^ CRC_TABLE[(state ^ byte) & 0xff]!;
}

function crcOver(state: number, bytes: Uint8Array, start: number, end: number): number {
  for (let at = start; at < end; at++) state = crcStep(state, bytes[at]!);
  return state;
}
