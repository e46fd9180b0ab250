// The sample of vectors as numbers: bytes out of base64, each times the scale of its vector.
// Pure but for the browser's own decoder; called by the map.
import type { VectorSample } from '../../contract/api/vectors.js';

/** One after the other, of length 1 each where they have a direction: the map is one of cosines. */
export function vectorsOf({ vectors, dim }: VectorSample): Float32Array {
  const rows = new Float32Array(vectors.length * dim);
  for (const [i, { components }] of vectors.entries()) {
    const bytes = Int8Array.from(atob(components), (character) => character.charCodeAt(0));
    const norm = Math.sqrt(bytes.reduce((sum, value) => sum + value * value, 0)) || 1;
    for (let j = 0; j < dim; j++) rows[i * dim + j] = (bytes[j] as number) / norm;
  }
  return rows;
}
