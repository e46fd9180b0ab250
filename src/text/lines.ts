// Slices of lines: a bounded number of items of a batch, one JSON text a line. Pure. Cut by the front thread out of a
// stream (service/line-slicer.ts) and by the batch worker out of a JSON body, read by the batch worker.
import type { LineSlice } from '../contract/batch-messages.js';

export const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** What one message to a batch worker carries: some milliseconds of work. */
export const SLICE_LINES_MAX = 256;
export const SLICE_BYTES_MAX = 256 * 1024;

/** Packs items into slices, each in a buffer of its own. An item alone may be larger than a slice. */
export function sliceItems(items: readonly Uint8Array[]): LineSlice[] {
  const slices: LineSlice[] = [];
  for (let from = 0; from < items.length; ) {
    let to = from;
    let bytes = 0;
    while (
      to < items.length &&
      to - from < SLICE_LINES_MAX &&
      (to === from || bytes + (items[to] as Uint8Array).length < SLICE_BYTES_MAX)
    ) {
      bytes += (items[to++] as Uint8Array).length;
    }
    slices.push(sliceOf(items.slice(from, to).map((item) => [item])));
    from = to;
  }
  return slices;
}

/**
 * One slice of these items, each in pieces. A line break inside one becomes a carriage return: the same white space to JSON, and as
 * forbidden inside a string.
 */
export function sliceOf(items: readonly (readonly Uint8Array[])[]): LineSlice {
  const joined = Buffer.allocUnsafeSlow(items.reduce((sum, pieces) => pieces.reduce(added, sum + 1), 0));
  let at = 0;
  for (const item of items) {
    let end = at;
    for (const piece of item) {
      joined.set(piece, end);
      end += piece.length;
    }
    replaceBreaks(joined.subarray(at, end));
    joined[end] = NEWLINE;
    at = end + 1;
  }
  return { bytes: joined, lines: items.length };
}

function replaceBreaks(item: Uint8Array): void {
  for (let lf = item.indexOf(NEWLINE); lf >= 0; lf = item.indexOf(NEWLINE, lf)) item[lf] = CARRIAGE_RETURN;
}

const added = (sum: number, { length }: Uint8Array): number => sum + length;

/** The texts of the lines that are not blank; undefined for one that is no UTF-8. */
export function textsOfLines(bytes: Uint8Array): (string | undefined)[] {
  const whole = decoded(bytes);
  const lines = whole === undefined ? linesOf(bytes).map(decoded) : whole.split('\n');
  return lines.filter((line) => line === undefined || /[^ \t\r]/.test(line));
}

function decoded(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function linesOf(bytes: Uint8Array): Uint8Array[] {
  const lines: Uint8Array[] = [];
  for (let from = 0; from < bytes.length; ) {
    const newline = bytes.indexOf(NEWLINE, from);
    const end = newline < 0 ? bytes.length : newline;
    lines.push(bytes.subarray(from, end));
    from = end + 1;
  }
  return lines;
}
