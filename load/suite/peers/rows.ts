// What all databases are filled with and asked for: real vectors of 384 numbers where the data is there, else seeded
// ones, each with a text and two groups; questions, and the exact answers to them. Used by load/suite/peers.ts.
import { clustered, windows } from '../../vector-sets.js';
import { readCranfieldQueries, hasCranfield } from '../../kit/cranfield.js';
import { variantsOf } from '../../kit/model.js';
import { readWordWindows } from '../../kit/word-windows.js';
import type { Filter, Row } from './peer.js';

export const K = 10;
export const DIM = 384;
export const TENTH: Filter = { field: 'tenth', value: 'g3' };
export const HUNDREDTH: Filter = { field: 'hundredth', value: 'g37' };

/** Of 7 digits, so that all of them get, and the exact answers are of, the same numbers. */
const digits = (vector: Float32Array): number[] => Array.from(vector, (value) => Number(value.toPrecision(7)));

export interface RowSet {
  readonly source: string;
  readonly rows: readonly Row[];
  readonly queries: readonly (readonly number[])[];
}

export function rowSet(count: number): RowSet {
  const { name, rows, queries } = windows(count) ?? clustered(count, DIM, 1);
  const texts = textsFor(count);
  return {
    source: name,
    rows: rows.map((vector, row) => ({
      row,
      vector: digits(vector),
      text: texts[row] as string,
      groups: { tenth: `g${row % 10}`, hundredth: `g${row % 100}` },
    })),
    queries: queries.map(digits),
  };
}

/**
 * Words alone: PaveDB rewrites quotation marks, semicolons and dashes in metadata, and hits are compared with what was
 * stored.
 */
const plain = (text: string): string => text.replace(/[^\p{L}\p{N}]+/gu, ' ').trim();

/** Windows of 22 words of real text where it is there. */
export function textsFor(count: number): string[] {
  const real = readWordWindows(count)?.windows;
  return Array.from({ length: count }, (_, i) =>
    plain(real?.[i] ?? `text number ${i} of a set that is made up of words that say how many there are`),
  );
}

/** Of words of the Cranfield queries where they are there; the first of them as they are, then variants without end. */
export function questions(count: number): { judged: readonly string[]; unseen: () => string } {
  const judged = hasCranfield()
    ? readCranfieldQueries().slice(0, count)
    : ['how many words are there', 'what is the number of this text', 'a set of texts', 'what do words say'];
  const variants = variantsOf(judged);
  return { judged, unseen: () => variants.next().value };
}

/** For each of the first queries the numbers of the K nearest rows by cosine, of those that fit the filter. */
export function nearest({ rows, queries }: RowSet, count: number, filter?: Filter): number[][] {
  const fitting = rows.filter(({ groups }) => filter === undefined || groups[filter.field] === filter.value);
  const units = fitting.map(({ vector }) => unit(vector));
  return queries.slice(0, count).map((query) => {
    const scores = units.map((row) => dot(row, query));
    // Only what is above the tenth of a sample can be among the ten.
    const floor = scores.slice(0, 1000).sort((a, b) => b - a)[K - 1] ?? -Infinity;
    const above = scores.flatMap((score, i) => (score >= floor ? [{ score, row: fitting[i]!.row }] : []));
    return above
      .sort((a, b) => b.score - a.score)
      .slice(0, K)
      .map(({ row }) => row);
  });
}

function unit(vector: readonly number[]): Float64Array {
  const length = Math.sqrt(dot(vector, vector));
  return Float64Array.from(vector, (value) => value / length);
}

function dot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] as number) * (b[i] as number);
  return sum;
}
