// The context of a hit: its text joined with those of the chunks before and after it in its document. What two chunks
// share is there once: the positions of chunks tell how far they overlap (extract/chunks.ts). Searching threads only.
import { type Ordinal, chunkIdOf, parseChunkId } from '../../api/ids.js';
import type { HitContext } from '../../api/search.js';
import { offsetOf, unitOf } from '../../text/chunking.js';
import type { SegmentView } from '../segments/segment.js';
import type { ShardView } from './snapshot.js';

interface Piece {
  readonly id: string;
  /** The page, row or text that the chunk was cut from. */
  readonly unit: string;
  /** Its position there, in characters; undefined if it is not known. */
  readonly offset: number | undefined;
  readonly text: string;
}

/**
 * Joins up to `reach` chunks on each side. Returns undefined for a chunk without text, and `changed` if the snapshot does
 * not have the chunk any more.
 */
export function contextOf(
  { txn }: ShardView,
  segment: SegmentView,
  row: Ordinal,
  id: string,
  reach: number,
): HitContext | 'changed' | undefined {
  const docid = parseChunkId(id)?.docid ?? id;
  const { ordinals } = txn.members(segment.id, docid);
  const at = ordinals.indexOf(segment.stored(row));
  if (at < 0) return 'changed';
  const pieces: Piece[] = [];
  for (const ordinal of ordinals.slice(Math.max(0, at - reach), at + reach + 1) as Ordinal[]) {
    const chunk = txn.findChunk(segment.id, ordinal);
    if (!chunk) return 'changed';
    const text = txn.text(segment.id, ordinal)?.toString();
    if (text === undefined) return undefined;
    pieces.push({ id: chunkIdOf(docid, chunk.path), unit: unitOf(chunk.path), offset: offsetOf(chunk.metaJson), text });
  }
  return { text: joined(pieces), chunks: pieces.map((piece) => piece.id) };
}

function joined(pieces: readonly Piece[]): string {
  let text = '';
  let before: Piece | undefined;
  for (const piece of pieces) {
    text += before ? continuation(before, piece) : piece.text;
    before = piece;
  }
  return text;
}

/** What follows the text of `before`: after a gap, or in another unit, on a new line. */
function continuation(before: Piece, { unit, offset, text }: Piece): string {
  if (unit !== before.unit || offset === undefined || before.offset === undefined) return `\n${text}`;
  const points = pointsOf(before.text);
  const shared = before.offset + points.length - offset;
  if (shared < 0) return `\n${text}`;
  const overlap = shared === 0 ? '' : points.slice(-shared).join('');
  return text.startsWith(overlap) ? text.slice(overlap.length) : `\n${text}`;
}

const pointsOf = (text: string): readonly string[] => Array.from(text);
