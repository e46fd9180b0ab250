// Tells text from binary by the first bytes of a file. Called by the command line, which leaves binary files out of an
// ingest. Pure.

/** How much of a file is looked at. */
export const SNIFF_BYTES_MAX = 8192;

/** True when the head of a file has a NUL byte and no byte order mark of UTF-16: git's rule for binary files. */
export function looksBinary(head: Uint8Array): boolean {
  const utf16 = (head[0] === 0xff && head[1] === 0xfe) || (head[0] === 0xfe && head[1] === 0xff);
  return !utf16 && head.subarray(0, SNIFF_BYTES_MAX).includes(0);
}
