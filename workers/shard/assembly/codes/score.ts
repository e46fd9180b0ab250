// The score of a code: the dot product of its levels with the folded query. Higher is nearer; scores of one query alone can be
// compared. Four codes at a time, as a walk finds them: the query is loaded once for all, and their loads overlap. Any thread.
//
// A lane of 16 bits holds several levels, and x >> s holds the level at s and those above it. Those above are not masked away: the
// folded query (query.ts) has what they add taken off in advance, from the number that the next shift is multiplied by. Sums on the
// way may pass 32 bits, which does no harm: the score does not.
import { pairSums } from '../wide';

/** Scores of four codes, each of `bytes4` bytes of 4-bit levels and `bytes2` of 2-bit levels, multiples of 16. */
@inline export function fourScores(a: usize, b: usize, c: usize, d: usize, folded: usize, bytes4: usize, bytes2: usize): v128 {
  let s0 = i32x4.splat(0);
  let s1 = i32x4.splat(0);
  let s2 = i32x4.splat(0);
  let s3 = i32x4.splat(0);
  const middle = a + bytes4;
  const end = middle + bytes2;
  b -= a;
  c -= a;
  d -= a;
  for (; a < middle; a += 16) {
    let x0 = v128.load(a);
    let x1 = v128.load(b + a);
    let x2 = v128.load(c + a);
    let x3 = v128.load(d + a);
    for (const next = folded + 64; folded < next; folded += 16) {
      const q = v128.load(folded);
      s0 = i32x4.add(s0, i32x4.dot_i16x8_s(x0, q));
      s1 = i32x4.add(s1, i32x4.dot_i16x8_s(x1, q));
      s2 = i32x4.add(s2, i32x4.dot_i16x8_s(x2, q));
      s3 = i32x4.add(s3, i32x4.dot_i16x8_s(x3, q));
      x0 = i16x8.shr_s(x0, 4);
      x1 = i16x8.shr_s(x1, 4);
      x2 = i16x8.shr_s(x2, 4);
      x3 = i16x8.shr_s(x3, 4);
    }
  }
  for (; a < end; a += 16) {
    let x0 = v128.load(a);
    let x1 = v128.load(b + a);
    let x2 = v128.load(c + a);
    let x3 = v128.load(d + a);
    for (const next = folded + 128; folded < next; folded += 16) {
      const q = v128.load(folded);
      s0 = i32x4.add(s0, i32x4.dot_i16x8_s(x0, q));
      s1 = i32x4.add(s1, i32x4.dot_i16x8_s(x1, q));
      s2 = i32x4.add(s2, i32x4.dot_i16x8_s(x2, q));
      s3 = i32x4.add(s3, i32x4.dot_i16x8_s(x3, q));
      x0 = i16x8.shr_s(x0, 2);
      x1 = i16x8.shr_s(x1, 2);
      x2 = i16x8.shr_s(x2, 2);
      x3 = i16x8.shr_s(x3, 2);
    }
  }
  return i32x4.add(pairSums(s0, s1, s2, s3, true), pairSums(s0, s1, s2, s3, false));
}
