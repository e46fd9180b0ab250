// The naive twin of the built-in embedder: the published reference line by line, without terms, records or rounding of
// its own. Shares only the splitting and WordPiece with the real one, which have tests against fixed expectations.
import type { EmbedderTable } from '../../../workers/embed/builtin/open-table.js';
import { plainWords } from '../../../workers/embed/builtin/split-words.js';
import { createPieceEncoder } from '../../../workers/embed/builtin/word-pieces.js';

const SHARE = 0.5;
const BUCKETS = 256;
const GRAM = 0.3;

function crc32(text: string): number {
  let crc = 0xffffffff;
  for (const byte of new TextEncoder().encode(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return ~crc >>> 0;
}

function unit(vector: readonly number[]): number[] {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  return vector.map((value) => (length > 0 ? value / length : value));
}

export function createNaiveEmbedder({
  vocabulary,
  width,
  rows,
  scales,
  idfs,
}: EmbedderTable): (text: string) => number[] {
  const encode = createPieceEncoder(vocabulary);

  const semantic = (text: string): number[] => {
    const ids = encode(text);
    return unit(
      Array.from({ length: width }, (_, i) => ids.reduce((sum, id) => sum + rows[id * width + i]! * scales[id]!, 0)),
    );
  };
  const lexical = (text: string): number[] => {
    const counts = new Map<string, number>();
    for (const word of plainWords(text)) counts.set(word, (counts.get(word) ?? 0) + 1);
    const sum = new Array<number>(BUCKETS).fill(0);
    const add = (feature: string, weight: number): void => {
      const hash = crc32(feature);
      sum[Math.floor(hash / 2) % BUCKETS]! += hash % 2 === 1 ? weight : -weight;
    };
    for (const [word, count] of counts) {
      const weight = Math.log1p(count) * Math.max(0, ...encode(word).map((id) => idfs[id]!));
      const marked = [...`^${word}$`];
      add(word, weight);
      for (let at = 0; at + 4 <= marked.length; at++) add(`#${marked.slice(at, at + 4).join('')}`, GRAM * weight);
    }
    return unit(sum);
  };
  return (text) =>
    unit([
      ...semantic(text).map((value) => value * Math.sqrt(1 - SHARE * SHARE)),
      ...lexical(text).map((value) => value * SHARE),
    ]);
}
