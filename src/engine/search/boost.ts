// Boosts by metadata: the best hits of a search get new scores from fields of their metadata, and are ordered by these.
// A field gives its value or a function of it, such as its logarithm, or how near it is to an origin (the decay functions
// of Elasticsearch's function_score). Hits whose new scores are equal stay in the order that they had. Pure; any
// thread.
import { BOOST_RESULT_MAX } from '../../api/limits.js';
import { timeOf } from '../../api/numbers.js';
import { type Boosted, scoreOf, withPriority } from '../../ranking/scores.js';
import { type MetaLayers, fieldReader, numberOfDecimal } from '../filter/match.js';
import type { HitReader, Ranking, Round, ScoredHit } from './merge.js';
import { type BoostCurve, type BoostSettings, type BoostedField, type CollectionSearch, depthOf } from './params.js';

/** The same boost of another score. */
export const withScore = (boosted: Boosted, score: number): Boosted => ({
  ...boosted,
  score: score + (boosted.combine === 'sum' ? 1 : Math.abs(score)) * boosted.boost,
});

type Value = number | string | boolean;

/** The boost of a chunk with these metadata. */
function boostOf({ combine, fields }: BoostSettings): (metadata: MetaLayers) => Boosted {
  const readers = fields.map((field) => ({ ...field, read: fieldReader(field.field) }));
  return (metadata) => {
    const given = readers.map(({ read, ...field }) => ({ field: field.field, ...givenBy(field, read(metadata)) }));
    const boost = given.reduce((sum, { gives, weight }) => sum + gives * weight, 0);
    return { combine, fields: given, boost, score: 0 };
  };
}

/** What a field gives; of a list, by the element that gives most. */
function givenBy({ curve, weight, missing }: BoostedField, stored: unknown): Omit<Boosted['fields'][number], 'field'> {
  let [value, gives]: [Value | undefined, number] = [undefined, -Infinity];
  for (const one of Array.isArray(stored) ? (stored as unknown[]) : [stored]) {
    const number = numberIn(one, 'isTime' in curve && curve.isTime);
    const result = number === undefined ? -Infinity : resultOf(curve, number);
    if (result > gives) [value, gives] = [one as Value, result];
  }
  return value === undefined ? { gives: missing, weight } : { value, gives, weight };
}

/** The number that a value counts as, in milliseconds for a time; undefined for any other value. */
function numberIn(value: unknown, isTime: boolean): number | undefined {
  if (isTime) return typeof value === 'string' ? timeOf(value) : undefined;
  const number = typeof value === 'string' ? numberOfDecimal(value) : value;
  if (typeof number === 'number') return Number.isFinite(number) ? number : undefined;
  if (typeof value === 'boolean' || value === 'true' || value === 'false') return String(value) === 'true' ? 1 : 0;
  return undefined;
}

/** Between -`BOOST_RESULT_MAX` and `BOOST_RESULT_MAX`, so that sums stay finite. */
function resultOf(curve: BoostCurve, value: number): number {
  return Math.max(-BOOST_RESULT_MAX, Math.min(BOOST_RESULT_MAX, resultOfAny(curve, value)));
}

function resultOfAny(curve: BoostCurve, value: number): number {
  if ('factor' in curve) {
    const x = curve.factor * value;
    if (curve.form === 'none') return x;
    const positive = Math.max(0, x);
    if (curve.form === 'log1p') return Math.log1p(positive);
    if (curve.form === 'sqrt') return Math.sqrt(positive);
    return positive === Infinity ? 1 : positive / (1 + positive);
  }
  const { form, origin, scale, offset, atScale } = curve;
  const distance = Math.max(0, Math.abs(value - origin) - offset) / scale;
  if (form === 'linear') return Math.max(0, 1 - (1 - atScale) * distance);
  return atScale ** (form === 'gaussian' ? distance * distance : distance);
}

/**
 * A ranking of the hits that are boosted: those that the search has first, to the depth of the boost. It is the same for
 * every depth that is asked for, and is made once.
 */
export function boostedRanking(
  { metadataOf, priorityOf }: HitReader,
  search: CollectionSearch,
  settings: BoostSettings,
  rank: (asked: CollectionSearch, round?: Round) => Ranking,
): () => Ranking {
  let made: Ranking | undefined;
  const make = (): Ranking => {
    const depth = depthOf(settings.depth, search.lexical !== undefined);
    const { lists, hits, bestBm25 } = rank({ ...search, depth });
    const boosted = boostOf(settings);
    const scored = hits.slice(0, settings.depth).map((hit): ScoredHit => {
      const own = withScore(boosted(metadataOf(hit) ?? []), scoreOf(hit.basis));
      // The scores of several queries have the priority already.
      const priority = hit.basis.mode === 'queries' ? 0 : priorityOf(hit);
      return { ...hit, score: withPriority(own.score, priority), boosted: own };
    });
    return { lists, hits: scored.sort((a, b) => b.score - a.score), bestBm25, isWhole: true };
  };
  return () => (made ??= make());
}
