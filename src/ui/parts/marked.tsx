// A text with marks in it. As text nodes: what stands in documents is never taken for markup.
// A part of chunks and hits.
import { piecesOf, type Range } from '../plain/marks.js';

export function Marked({ text, ranges }: { text: string; ranges: readonly Range[] }) {
  return <>{piecesOf(text, ranges).map(({ text: piece, isMarked }) => (isMarked ? <mark>{piece}</mark> : piece))}</>;
}
