// The naive optimal string alignment distance, by its recurrence, over characters; and words with typing errors.
import type { Prng } from '../../../src/base/prng.js';

/** Insertions, deletions, replacements and swaps of neighbours from `a` to `b`. */
export function naiveEdits(a: string, b: string): number {
  const [from, to] = [[...a], [...b]];
  const rows: number[][] = [];
  for (let i = 0; i <= from.length; i++) {
    const row: number[] = [];
    for (let j = 0; j <= to.length; j++) {
      const [above, left] = [rows[i - 1] ?? [], row];
      const ways = [
        i === 0 && j === 0 ? 0 : Infinity,
        i > 0 ? (above[j] as number) + 1 : Infinity,
        j > 0 ? (left[j - 1] as number) + 1 : Infinity,
        i > 0 && j > 0 ? (above[j - 1] as number) + (from[i - 1] === to[j - 1] ? 0 : 1) : Infinity,
        i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]
          ? (rows[i - 2]?.[j - 2] as number) + 1
          : Infinity,
      ];
      row.push(Math.min(...ways));
    }
    rows.push(row);
  }
  return rows[from.length]?.[to.length] as number;
}

/** A word with a few random edits, with these letters. */
export function edited(prng: Prng, word: string, edits: number, letters: readonly string[]): string {
  const characters = [...word];
  for (let i = 0; i < edits; i++) {
    const at = prng.int(characters.length + 1);
    const other = letters[prng.int(letters.length)] as string;
    const kind = prng.int(4);
    if (kind === 0) characters.splice(at, 0, other);
    else if (kind === 1) characters.splice(at, 1);
    else if (kind === 2) characters.splice(at, 1, other);
    else characters.splice(at, 0, ...characters.splice(at + 1, 1));
  }
  return characters.join('') || (letters[0] as string);
}
