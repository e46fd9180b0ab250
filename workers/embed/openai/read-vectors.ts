// The vectors in an answer of `/embeddings`: lists of numbers, or float32 in base64, whichever came; in the order of
// `index`. They are brought to length 1, which the distances of the index want and not every server does. Pure. Used by
// openai-runner.ts.
import { CallError } from '../remote/call-error.js';

interface Entry {
  index?: unknown;
  embedding?: unknown;
}

/**
 * A vector for each of `count` texts; undefined for one that has none that could be used (zeros, or not finite). Throws
 * CallError.
 */
export function readVectors(answer: unknown, count: number, dim: number): (Float32Array | undefined)[] {
  const entries = (answer as { data?: unknown } | null)?.data;
  if (!Array.isArray(entries)) throw new CallError('broken', 'its answer has no list `data`');
  if (entries.length !== count) throw new CallError('broken', `it gives ${entries.length} vectors for ${count} texts`);
  const vectors = new Map<number, Float32Array | undefined>();
  entries.forEach((entry: Entry | null, at) =>
    vectors.set(placeOf(entry?.index ?? at, count), unit(numbersOf(entry?.embedding, dim))),
  );
  if (vectors.size !== count) throw new CallError('broken', 'it gives two vectors the same `index`');
  return Array.from({ length: count }, (_, place) => vectors.get(place));
}

function placeOf(index: unknown, count: number): number {
  if (Number.isInteger(index) && (index as number) >= 0 && (index as number) < count) return index as number;
  throw new CallError('broken', 'it gives an `index` that no text has');
}

function numbersOf(embedding: unknown, dim: number): Float32Array {
  const numbers =
    typeof embedding === 'string'
      ? decoded(embedding)
      : Array.isArray(embedding)
        ? Float32Array.from(embedding, asNumber)
        : undefined;
  if (!numbers) throw new CallError('broken', 'it gives an `embedding` that is neither a list nor base64');
  if (numbers.length !== dim)
    throw new CallError('broken', `its vectors have ${numbers.length} dimensions; \`dim\` of the instance is ${dim}`);
  return numbers;
}

/** JSON has no NaN: servers write null. */
const asNumber = (value: unknown): number => (typeof value === 'number' ? value : NaN);

function decoded(base64: string): Float32Array {
  const bytes = Buffer.from(base64, 'base64');
  // Copied, because floats want alignment; what is no whole float is cut off, and then the length is not that of a
  // vector.
  return new Float32Array(Uint8Array.from(bytes).buffer, 0, Math.floor(bytes.length / 4));
}

function unit(vector: Float32Array): Float32Array | undefined {
  let squares = 0;
  for (const value of vector) squares += value * value;
  const length = Math.sqrt(squares);
  return length > 0 && Number.isFinite(length) ? vector.map((value) => value / length) : undefined;
}
