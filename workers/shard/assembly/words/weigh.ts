// BM25 of one term in one chunk, as a whole number: idf and scale come in as the factor, so sums of weights do not
// depend on their order, and chunks that tie, tie exactly. The same operations as src/rank/bm25.ts, in float32. Pure.
import { Impact, SATURATED } from './impact';
import { Query } from './query';

/**
 * Every single operation is monotone in the count and in the length, so a greater count and a smaller length never
 * weigh less. At least 1: whoever has the term is found.
 * @inline
 */
export function weigh(query: Query, factor: f32, count: u32, length: u32): u32 {
  const norm = query.norm + query.normPerToken * <f32>length;
  return <u32>(factor / (<f32>1 + norm / <f32>count)) + 1;
}

/** Weights of four postings. @inline */
export function weighFour(norm: v128, normPerToken: v128, factor: v128, counts: v128, lengths: v128): v128 {
  const norms = f32x4.add(norm, f32x4.mul(normPerToken, f32x4.convert_i32x4_s(lengths)));
  const weights = f32x4.div(factor, f32x4.add(f32x4.splat(1), f32x4.div(norms, f32x4.convert_i32x4_s(counts))));
  return i32x4.add(i32x4.trunc_sat_f32x4_s(weights), i32x4.splat(1));
}

/** What no posting of the impact weighs more than. */
export function boundOf(query: Query, factor: f32, impact: Impact): u32 {
  const greatest = <u32>(impact >> 48);
  if (greatest == SATURATED) return <u32>factor + 1;
  let bound = weigh(query, factor, 1, <u32>(impact & 0xffff));
  if (greatest >= 2) bound = max(bound, weigh(query, factor, 2, <u32>((impact >> 16) & 0xffff)));
  if (greatest >= 3) bound = max(bound, weigh(query, factor, greatest, <u32>((impact >> 32) & 0xffff)));
  return bound;
}
