// Turns the hits of a search into the JSON text a client gets, from the records of their shards, with what they tell of
// themselves where it was asked for: the parts of the score, how relevant they are likely to be, the best passage.
// Search workers only.
import { type Ordinal, chunkIdOf } from '../../api/ids.js';
import type { Explanation } from '../../api/search.js';
import { type LexicalStatistics, greatestBm25, idfsOf } from '../../ranking/bm25.js';
import { type Basis, nearnessOf, relevanceOf, scoreOf } from '../../ranking/scores.js';
import { type DocumentRecord, mergedMetaJson } from '../../storage/records.js';
import { readDocument } from '../../storage/shard-reader.js';
import { highlightOf } from '../../text/highlight.js';
import { plainTerm } from '../../text/terms.js';
import type { MetaLayers } from '../filter/match.js';
import type { WordIndex } from '../postings/text-index.js';
import type { PartView } from '../segments/segment.js';
import { type HitParts, hitJson, joinHit, matchReason } from './hit-json.js';
import type { ScoredHit } from './merge.js';
import type { CollectionSearch, DetailsAsked } from './params.js';
import type { ChunkPayload } from './payload-cache.js';
import { cosinesOf, wordScores } from './rank.js';
import { type ShardView, isLater } from './snapshot.js';

/** What is known of a query over all shards, to tell how relevant a hit is, and what each of its terms is worth. */
export interface QueryStatistics {
  readonly words: LexicalStatistics;
  /** Of the query with any chunks. */
  readonly meanCosine: number;
}

type HitDetails = Pick<HitParts, 'explain' | 'relevance' | 'highlight'>;
/** Of one hit, by its place among them, once its text is read. */
type DetailsOf = (at: number, text: string | undefined, priority: number) => HitDetails;

/** Of the hits of one shard, all at once. */
function detailsOf(
  part: PartView,
  hits: readonly ScoredHit[],
  asked: DetailsAsked,
  vector: Float32Array | undefined,
  statistics: QueryStatistics,
): DetailsOf {
  const ordinals = Uint32Array.from(hits, ({ candidate }) => candidate.ordinal);
  const words = part.words;
  const terms =
    asked.explain && words && asked.words ? termScores(words, asked.words.terms, statistics.words, ordinals) : [];
  const relevance = asked.relevance && relevances(part, ordinals, asked.words?.terms, vector, statistics);
  const highlight = asked.highlight && weighed(asked.highlight, asked.words?.terms, statistics.words);
  return (at, text, priority) => ({
    ...(asked.explain && { explain: explanation((hits[at] as ScoredHit).basis, terms[at] ?? [], priority) }),
    ...(relevance && relevance[at] !== undefined && { relevance: relevance[at] }),
    ...(highlight && text !== undefined && { highlight: highlightOf(text, highlight) }),
  });
}

/**
 * The words that are marked are those that are ranked by, where any are. Rare terms are marked sooner, where it is known
 * which are.
 */
function weighed(
  highlight: NonNullable<DetailsAsked['highlight']>,
  terms: string[] = [],
  statistics: LexicalStatistics,
): Parameters<typeof highlightOf>[1] {
  return terms.length > 0 ? { ...highlight, terms, weights: idfsOf(statistics) } : highlight;
}

/** undefined where nothing is known to tell it by. */
function relevances(
  part: PartView,
  ordinals: Uint32Array,
  terms: string[] | undefined,
  vector: Float32Array | undefined,
  statistics: QueryStatistics,
): (number | undefined)[] {
  const cosines = vector && cosinesOf(part, vector, ordinals);
  const scores = terms?.length && part.words ? wordScores(part.words, terms, statistics.words, ordinals) : undefined;
  const greatest = terms ? greatestBm25(statistics.words) : 0;
  return Array.from(ordinals, (_, at) => {
    const nearness = cosines && nearnessOf(cosines[at] as number, statistics.meanCosine);
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
  terms: string[],
  statistics: LexicalStatistics,
  ordinals: Uint32Array,
): TermScores[] {
  const found = Array.from(ordinals, (): TermScores => []);
  terms.forEach((term, i) => {
    const { chunks, tokens, frequencies, counts } = statistics;
    const ofTerm = { chunks, tokens, frequencies: [frequencies[i] as number], counts: [counts?.[i] ?? 1] };
    wordScores(words, [term], ofTerm, ordinals).forEach((bm25, at) => {
      if (bm25 > 0) found[at]?.push({ term: plainTerm(term), bm25 });
    });
  });
  return found;
}

function explanation(basis: Basis, terms: TermScores, priority: number): Omit<Explanation, 'score'> {
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

/**
 * What a hit tells of its chunk whatever the query; undefined where the snapshot does not have it. `documents`: those
 * read before, to which its own is added.
 */
function readPayload(
  view: ShardView,
  part: PartView,
  row: Ordinal,
  documents: Map<string, DocumentRecord>,
): ChunkPayload | undefined {
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

const layersOf = ({ layers }: ChunkPayload): MetaLayers =>
  layers.map((json) => JSON.parse(json) as Record<string, unknown>);

const textOf = ({ textJson }: ChunkPayload): string | undefined =>
  textJson === undefined ? undefined : (JSON.parse(textJson) as string);

/** A hit as a client gets it. */
interface HydratedHit {
  /** Chunk id. */
  id: string;
  /** The whole hit, as JSON text. */
  json: string;
  /** Where they were asked for. */
  parts?: HitParts;
}

/** Hits of one shard, in the order of the answer. */
interface HitsOfShard {
  readonly view: ShardView;
  readonly hits: readonly ScoredHit[];
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
  statistics: QueryStatistics,
): (HydratedHit | undefined)[] {
  const { part } = view;
  if (!part) return hits.map(() => undefined);
  const documents = new Map<string, DocumentRecord>();
  const detailsOfHit = search.details && detailsOf(part, hits, search.details, search.vector, statistics);
  return hits.map((hit, at) => {
    const { ordinal, stamp } = hit.candidate;
    if (isLater(stamp, before)) return undefined;
    const version = { memory: view.memory, collection: part.id, ordinal, stamp };
    const kept = view.cache.get(version);
    const chunk = kept ?? readPayload(view, part, ordinal, documents);
    const hydrated = chunk && hydrateHit(search, part, hit, chunk, at, detailsOfHit);
    if (!hydrated || part.index.stampOf(ordinal) !== stamp) return undefined;
    if (!kept) view.cache.keep(version, chunk);
    return hydrated;
  });
}

function hydrateHit(
  search: CollectionSearch,
  part: PartView,
  hit: ScoredHit,
  chunk: ChunkPayload,
  at: number,
  detailsOfHit?: DetailsOf,
): HydratedHit {
  const { head, priorityKey, narrowed, withParts } = search;
  const { candidate, basis, score } = hit;
  const value = part.priorities.of(candidate.ordinal);
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
