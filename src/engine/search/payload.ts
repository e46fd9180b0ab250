// Turns the hits of a search into the JSON text a client gets, from the records of their shards. Search workers only;
// called by finish.ts once the rankings of all shards are merged.
import { type Ordinal, chunkIdOf } from '../../api/ids.js';
import type { Explanation } from '../../api/search.js';
import { greatestBm25 } from '../../ranking/bm25.js';
import type {
  Basis,
  DetailsWanted,
  HitParts,
  HybridQuery,
  HydratedHit,
  RankedHit,
  ToldChunk,
} from '../../ranking/hits.js';
import { nearnessOf, relevanceOf, scoreOf } from '../../ranking/scores.js';
import { type DocumentRecord, mergedMetaJson } from '../../storage/records.js';
import { readDocument } from '../../storage/shard-reader.js';
import { highlightOf } from '../../text/highlight.js';
import { plainTerm } from '../../text/terms.js';
import type { MetaLayers } from '../filter/match.js';
import type { WordIndex } from '../postings/text-index.js';
import type { PartView } from '../segments/segment.js';
import { hitJson, joinHit, matchReason } from './hit-json.js';
import type { CollectionSearch } from './params.js';
import { cosinesOf, wordScores } from './rank.js';
import { type ShardView, isLater } from './snapshot.js';

// What hits tell of themselves where it was asked for: the parts of the score, how relevant they are likely to be, the
// best passage. Search workers only; called by hydrate.ts for the hits of one shard, all at once.

type HitDetails = Pick<HitParts, 'explain' | 'relevance' | 'highlight'>;
/** Of one hit, by its place among them, once its text is read. */
type DetailsOf = (at: number, text: string | undefined, priority: number) => HitDetails;

function detailsOf(part: PartView, hits: readonly RankedHit[], wanted: DetailsWanted): DetailsOf {
  const ordinals = Uint32Array.from(hits, ({ ordinal }) => ordinal);
  const words = part.words;
  const terms = wanted.explain && words && wanted.words ? termScores(words, wanted.words, ordinals) : [];
  const relevance = wanted.relevance && relevances(part, ordinals, wanted);
  return (at, text, priority) => ({
    ...(wanted.explain && { explain: explanation(hits[at] as RankedHit, terms[at] ?? [], priority) }),
    ...(relevance?.[at] !== undefined && { relevance: relevance[at] }),
    ...(wanted.highlight && text !== undefined && { highlight: highlightOf(text, wanted.highlight) }),
  });
}

/** undefined where nothing is known to tell it by. */
function relevances(
  part: PartView,
  ordinals: Uint32Array,
  { relevance, words }: DetailsWanted,
): (number | undefined)[] {
  const { vector } = relevance as NonNullable<typeof relevance>;
  const cosines = vector && cosinesOf(part, vector.query, ordinals);
  const index = part.words;
  const scores = words && index && words.terms.length > 0 ? wordScores(index, words, ordinals) : undefined;
  const greatest = words ? greatestBm25(words.statistics) : 0;
  return Array.from(ordinals, (_, at) => {
    const nearness = vector && cosines && nearnessOf(cosines[at] as number, vector.mean);
    return relevanceOf(nearness, scores && (scores[at] as number) / greatest);
  });
}

type TermScores = NonNullable<Explanation['lexical']>['terms'];

/**
 * For each chunk the terms that it has: asked for one by one, their scores add up to that of all but for less than a
 * millionth of it.
 */
function termScores(
  words: WordIndex,
  { terms, statistics }: Omit<HybridQuery, 'mode'>,
  ordinals: Uint32Array,
): TermScores[] {
  const found = Array.from(ordinals, (): TermScores => []);
  terms.forEach((term, i) => {
    const { chunks, tokens, frequencies, counts } = statistics;
    const ofTerm = { chunks, tokens, frequencies: [frequencies[i] as number], counts: [counts?.[i] ?? 1] };
    wordScores(words, { terms: [term], statistics: ofTerm }, ordinals).forEach((bm25, at) => {
      if (bm25 > 0) found[at]?.push({ term: plainTerm(term), bm25 });
    });
  });
  return found;
}

function explanation({ basis }: RankedHit, terms: TermScores, priority: number): Omit<Explanation, 'score'> {
  return { ...partsOf(basis, terms), fused: scoreOf(basis), ...(priority !== 0 && { priority }) };
}

function partsOf(basis: Basis, terms: TermScores): Pick<Explanation, 'vector' | 'lexical' | 'boost' | 'fusion'> {
  if (basis.mode === 'vector') return { vector: { cosine: basis.cosine, ...ranked(basis.vectorRank) } };
  if (basis.mode === 'boost')
    return {
      vector: { cosine: basis.cosine, ...ranked(basis.vectorRank) },
      boost: { matched: basis.matched, wanted: basis.wanted, boost: basis.boost },
    };
  const { cosine, vectorRank, bm25, share, lexicalRank, fusion } = basis;
  return {
    ...(cosine !== undefined && { vector: { cosine, ...ranked(vectorRank) } }),
    ...(bm25 !== undefined && {
      lexical: { bm25, ...ranked(lexicalRank), ...(fusion.method === 'score' && { share: share ?? 0 }), terms },
    }),
    fusion,
  };
}

const ranked = (rank: number | undefined): { rank?: number } => (rank === undefined ? {} : { rank });

// What a hit tells of its chunk whatever the query: from the records of a shard, as JSON text where it is told as that.
// Search workers only; read by hydrate.ts, and kept by hit-cache.ts.

/** undefined where the snapshot does not have it. `documents`: those read before, to which its own is added. */
function readToldChunk(
  view: ShardView,
  part: PartView,
  row: Ordinal,
  documents: Map<string, DocumentRecord>,
): ToldChunk | undefined {
  const [collection, ordinal] = [part.id, part.stored(row)];
  const chunk = view.txn.findChunk(collection, ordinal);
  if (!chunk) return undefined;
  const document = documents.get(chunk.docid) ?? readDocument(view.txn, collection, chunk.docid);
  documents.set(chunk.docid, document);
  const text = view.txn.text(collection, ordinal)?.toString();
  const id = chunkIdOf(chunk.docid, chunk.path);
  return {
    id,
    idJson: JSON.stringify(id),
    ...(text !== undefined && { textJson: JSON.stringify(text) }),
    metaJson: mergedMetaJson(document.metadataJson, chunk.metaJson),
    layers: [chunk.metaJson, document.metadataJson],
  };
}

const layersOf = ({ layers }: ToldChunk): MetaLayers =>
  layers.map((json) => JSON.parse(json) as Record<string, unknown>);

const textOf = ({ textJson }: ToldChunk): string | undefined =>
  textJson === undefined ? undefined : (JSON.parse(textJson) as string);

/** Hits of one shard, in the order of the answer. */
interface HitsOfShard {
  readonly view: ShardView;
  readonly hits: readonly RankedHit[];
  /** The stamp given out last before they were ranked. */
  readonly before: number;
}

/**
 * undefined for a hit that has changed since it was ranked: its chunk has gone, or its document came while the search
 * was at work, and may be ranked in part. Where its stamp is still what it was, a snapshot taken later has its chunk,
 * or has lost it to a commit that is not published yet: an ordinal is used again only after the publication that freed
 * it. Nor is that commit acknowledged: what the chunk told before may be told once more.
 */
export function hydrate(
  search: CollectionSearch,
  { view, hits, before }: HitsOfShard,
  details: DetailsWanted | undefined,
): (HydratedHit | undefined)[] {
  const { part } = view;
  if (!part) return hits.map(() => undefined);
  const documents = new Map<string, DocumentRecord>();
  const detailsOfHit = details && detailsOf(part, hits, details);
  return hits.map((hit, at) => {
    if (isLater(hit.stamp, before)) return undefined;
    const version = { memory: view.memory, collection: part.id, ordinal: hit.ordinal, stamp: hit.stamp };
    const kept = view.cache.get(version);
    const chunk = kept ?? readToldChunk(view, part, hit.ordinal, documents);
    const hydrated = chunk && hydrateHit(search, part, hit, chunk, at, detailsOfHit);
    if (!hydrated || part.index.stampOf(hit.ordinal) !== hit.stamp) return undefined;
    if (!kept) view.cache.keep(version, chunk);
    return hydrated;
  });
}

function hydrateHit(
  search: CollectionSearch,
  part: PartView,
  hit: RankedHit,
  chunk: ToldChunk,
  at: number,
  detailsOfHit?: DetailsOf,
): HydratedHit {
  const { head, priorityKey, narrowed, withParts } = search;
  const { ordinal, basis, score } = hit;
  const value = part.priorities.of(ordinal);
  // Field by field: a literal that spreads another took a third of the hydration.
  const reason = matchReason(basis, narrowed, () => layersOf(chunk), {
    key: priorityKey,
    value,
    before: scoreOf(basis),
    after: score,
  });
  if (!detailsOfHit && !withParts) return { id: chunk.id, json: joinHit(head, chunk, score, reason) };
  const text = textOf(chunk);
  const parts = {
    head,
    id: chunk.id,
    ...(text !== undefined && { text }),
    metaJson: chunk.metaJson,
    reason,
    priority: { key: priorityKey, value },
    ...detailsOfHit?.(at, text, value),
  };
  return { id: chunk.id, json: hitJson(parts, score), ...(withParts && { parts }) };
}
