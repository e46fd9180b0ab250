// The score of a code: the dot product of its levels with the folded query. Higher is nearer; scores of one query alone
// can be compared. Four codes at a time, as a walk finds them: the query is loaded once for all, and their loads
// overlap. Any thread.
//
// A lane of 16 bits holds several levels, and x >> s holds the level at s and those above it. Those above are not
// masked away: the folded query (query.ts) has what they add taken off in advance, from the number that the next shift
// is multiplied by. Sums on the way may pass 32 bits, which does no harm: the score does not.
import { pairSums } from '../wide';

/**
 * Scores of four codes, each of `bytes4` bytes of 4-bit levels and `bytes2` of 2-bit levels, multiples of 16.
 * @inline
 */
export function fourScores(a: usize, b: usize, c: usize, d: usize, folded: usize, bytes4: usize, bytes2: usize): v128 {
  let s0 = i32x4.splat(0);
  let s1 = i32x4.splat(0);
  let s2 = i32x4.splat(0);
  let s3 = i32x4.splat(0);
  const middle = a + bytes4;
  const end = middle + bytes2;
  b -= a;
  c -= a;
  d -= a;
  for (; a < middle; a += 16, folded += 64) {
    const q0 = v128.load(folded);
    const q1 = v128.load(folded, 16);
    const q2 = v128.load(folded, 32);
    const q3 = v128.load(folded, 48);
    s0 = i32x4.add(s0, fourLevels(v128.load(a), 4, q0, q1, q2, q3));
    s1 = i32x4.add(s1, fourLevels(v128.load(b + a), 4, q0, q1, q2, q3));
    s2 = i32x4.add(s2, fourLevels(v128.load(c + a), 4, q0, q1, q2, q3));
    s3 = i32x4.add(s3, fourLevels(v128.load(d + a), 4, q0, q1, q2, q3));
  }
  for (; a < end; a += 16, folded += 128) {
    const x0 = v128.load(a);
    const x1 = v128.load(b + a);
    const x2 = v128.load(c + a);
    const x3 = v128.load(d + a);
    let q0 = v128.load(folded);
    let q1 = v128.load(folded, 16);
    let q2 = v128.load(folded, 32);
    let q3 = v128.load(folded, 48);
    s0 = i32x4.add(s0, fourLevels(x0, 2, q0, q1, q2, q3));
    s1 = i32x4.add(s1, fourLevels(x1, 2, q0, q1, q2, q3));
    s2 = i32x4.add(s2, fourLevels(x2, 2, q0, q1, q2, q3));
    s3 = i32x4.add(s3, fourLevels(x3, 2, q0, q1, q2, q3));
    q0 = v128.load(folded, 64);
    q1 = v128.load(folded, 80);
    q2 = v128.load(folded, 96);
    q3 = v128.load(folded, 112);
    s0 = i32x4.add(s0, fourLevels(i16x8.shr_s(x0, 8), 2, q0, q1, q2, q3));
    s1 = i32x4.add(s1, fourLevels(i16x8.shr_s(x1, 8), 2, q0, q1, q2, q3));
    s2 = i32x4.add(s2, fourLevels(i16x8.shr_s(x2, 8), 2, q0, q1, q2, q3));
    s3 = i32x4.add(s3, fourLevels(i16x8.shr_s(x3, 8), 2, q0, q1, q2, q3));
  }
  return i32x4.add(pairSums(s0, s1, s2, s3, true), pairSums(s0, s1, s2, s3, false));
}

/** What the lowest four levels of the lanes add to a score. @inline */
function fourLevels(x: v128, bits: i32, q0: v128, q1: v128, q2: v128, q3: v128): v128 {
  const low = i32x4.add(i32x4.dot_i16x8_s(x, q0), i32x4.dot_i16x8_s(i16x8.shr_s(x, bits), q1));
  const high = i32x4.add(
    i32x4.dot_i16x8_s(i16x8.shr_s(x, 2 * bits), q2),
    i32x4.dot_i16x8_s(i16x8.shr_s(x, 3 * bits), q3),
  );
  return i32x4.add(low, high);
}
