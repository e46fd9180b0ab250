// Hydration: turns ranked hits into the JSON text that a client receives, from the records of their shards, and adds
// the hit options that were asked for (explanation, relevance, highlight). Searching threads only.
import { type Ordinal, chunkIdOf } from '../../api/ids.js';
import type { Explanation } from '../../api/search.js';
import { type LexicalStatistics, greatestBm25, idfsOf } from '../../ranking/bm25.js';
import { type Basis, nearnessOf, relevanceOf, scoreOf } from '../../ranking/scores.js';
import { type DocumentRecord, mergedMetaJson } from '../../storage/records.js';
import { readDocument } from '../../storage/shard-reader.js';
import { highlightOf } from '../../text/highlight.js';
import { plainTerm } from '../../text/terms.js';
import { type MetaLayers, compileFilter } from '../filter/match.js';
import type { TextIndex } from '../postings/text-index.js';
import type { SegmentView } from '../segments/segment.js';
import { contextOf } from './context.js';
import { type HitDetails, type HitPieces, detailsJson, joinHit, matchReason, shownOf } from './hit-json.js';
import type { ScoredHit } from './merge.js';
import { type CollectionSearch, type ResolvedHitOptions, type SearchedTerms, estimatesRelevance } from './params.js';
import type { ChunkPayload } from './payload-cache.js';
import { bm25Scores, cosinesOf } from './rank.js';
import { type ShardView, isLater } from './snapshot.js';

/** Query statistics over all shards, from which relevance and the score of each term are computed. */
export interface QueryStatistics {
  readonly lexical: LexicalStatistics;
  /** Mean cosine of the query with a sample of chunks. */
  readonly meanCosine: number;
}

/** Options of one hit. `at` is the hit's index in its list. */
type DetailsOf = (at: number, chunk: ChunkPayload, priority: number) => HitDetails | 'irrelevant' | 'changed';

/** Prepares the options of all hits of one shard. */
function detailsOf(
  view: ShardView,
  segment: SegmentView,
  hits: readonly ScoredHit[],
  asked: ResolvedHitOptions,
  { vector, collection }: CollectionSearch,
  statistics: QueryStatistics,
): DetailsOf {
  const { minRelevance = 0 } = asked;
  const ordinals = Uint32Array.from(hits, ({ candidate }) => candidate.ordinal);
  const textIndex = segment.textIndex;
  const terms =
    asked.explain && textIndex && asked.terms ? termScores(textIndex, asked.terms, statistics.lexical, ordinals) : [];
  const relevance = estimatesRelevance(asked)
    ? relevances(segment, ordinals, asked.terms?.terms, vector, statistics)
    : undefined;
  const highlight = asked.highlight && weighed(asked.highlight, asked.terms?.terms, statistics.lexical);
  return (at, chunk, priority) => {
    if (relevance && (relevance[at] ?? 0) < minRelevance) return 'irrelevant';
    const details: HitDetails = {};
    if (asked.explain) details.explain = explanation(hits[at] as ScoredHit, terms[at] ?? [], priority);
    if (asked.relevance && relevance?.[at] !== undefined) details.relevance = relevance[at];
    const text = highlight && textOf(chunk);
    if (highlight && text !== undefined) details.highlight = highlightOf(text, highlight);
    if (asked.context) {
      const context = contextOf(view, segment, ordinals[at] as Ordinal, chunk.id, asked.context);
      if (context === 'changed') return 'changed';
      if (context) details.context = context;
    }
    if (!asked.vector) return details;
    const stored = view.txn.vector(collection, segment.stored(ordinals[at] as Ordinal));
    if (!stored) return 'changed';
    details.vector = [...stored];
    return details;
  };
}

/** Marks the terms that the search ranks by, if there are any, and prefers rare ones by their IDF. */
function weighed(
  highlight: NonNullable<ResolvedHitOptions['highlight']>,
  terms: string[] = [],
  statistics: LexicalStatistics,
): Parameters<typeof highlightOf>[1] {
  return terms.length > 0 ? { ...highlight, terms, weights: idfsOf(statistics) } : highlight;
}

/** Relevance of each chunk; undefined if neither a cosine nor a BM25 score is available. */
function relevances(
  segment: SegmentView,
  ordinals: Uint32Array,
  terms: string[] | undefined,
  vector: Float32Array | undefined,
  statistics: QueryStatistics,
): (number | undefined)[] {
  const cosines = vector && cosinesOf(segment, vector, ordinals);
  const scores =
    terms?.length && segment.textIndex ? bm25Scores(segment.textIndex, terms, statistics.lexical, ordinals) : undefined;
  const greatest = terms ? greatestBm25(statistics.lexical) : 0;
  return Array.from(ordinals, (_, at) => {
    const nearness = cosines && nearnessOf(cosines[at] as number, statistics.meanCosine);
    return relevanceOf(nearness, scores && (scores[at] as number) / greatest);
  });
}

type TermScores = NonNullable<Explanation['lexical']>['terms'];

/**
 * For each chunk the terms that it has, with their scores. Each term is scored alone; the scores of a chunk add up to
 * its full BM25 with a relative error below one millionth.
 */
function termScores(
  textIndex: TextIndex,
  { terms, alternatives }: SearchedTerms,
  statistics: LexicalStatistics,
  ordinals: Uint32Array,
): TermScores[] {
  const found = Array.from(ordinals, (): TermScores => []);
  terms.forEach((term, i) => {
    const { chunks, tokens, frequencies, counts } = statistics;
    const ofTerm = { chunks, tokens, frequencies: [frequencies[i] as number], counts: [counts?.[i] ?? 1] };
    const word = alternatives?.words[i];
    bm25Scores(textIndex, [term], ofTerm, ordinals).forEach((bm25, at) => {
      if (bm25 > 0) found[at]?.push({ term: plainTerm(term), bm25, ...(word !== undefined && { for: word }) });
    });
  });
  return found;
}

function explanation({ basis, boosted }: ScoredHit, terms: TermScores, priority: number): Omit<Explanation, 'score'> {
  return {
    ...scoresOf(basis, terms),
    fused: scoreOf(basis),
    ...(boosted && { boost_by: boosted }),
    ...(priority !== 0 && { priority }),
  };
}

type Scores = Pick<Explanation, 'vector' | 'lexical' | 'boost' | 'fusion' | 'queries'>;

function scoresOf(basis: Basis, terms: TermScores): Scores {
  if (basis.mode === 'queries') return { queries: { ...basis.fusion, found: [...basis.found] } };
  if (basis.mode === 'vector') return { vector: { cosine: basis.cosine, ...ranked(basis.vectorRank) } };
  if (basis.mode === 'sorted') return {};
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
 * Reads the payload of a chunk; undefined if the snapshot does not have the chunk. `documents` caches the document
 * records of this search, and the chunk's document is added to it.
 */
function readPayload(
  view: ShardView,
  segment: SegmentView,
  row: Ordinal,
  documents: Map<string, DocumentRecord>,
): ChunkPayload | undefined {
  const [collection, ordinal] = [segment.id, segment.stored(row)];
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

/** A hit as a client receives it. */
export interface HydratedHit {
  /** Chunk id. */
  id: string;
  /** The whole hit as JSON text. */
  json: string;
  /** Present if `withPieces` was set. */
  pieces?: HitPieces;
  /** Set if its relevance is lower than requested; the other fields are then empty. */
  isIrrelevant?: true;
}

const IRRELEVANT: HydratedHit = { id: '', json: '', isIrrelevant: true };

/** Hits of one segment, best first. */
interface HitsOfShard {
  readonly view: ShardView;
  readonly hits: readonly ScoredHit[];
  /** The last row version published before they were ranked. */
  readonly before: number;
}

/**
 * Returns undefined for a hit that has changed since it was ranked: its chunk was deleted, or its document was
 * published during the search and may have been ranked in part. If the row version is unchanged, a snapshot taken now
 * either has the chunk, or has lost it to a commit that is not published yet, because an ordinal is reused only after
 * the publication that freed it. Such a commit is not acknowledged yet either, so a cached payload may still be shown.
 */
export function hydrate(
  search: CollectionSearch,
  { view, hits, before }: HitsOfShard,
  statistics: QueryStatistics,
): (HydratedHit | undefined)[] {
  const { segment } = view;
  if (!segment) return hits.map(() => undefined);
  const documents = new Map<string, DocumentRecord>();
  const filters = search.filter?.filters ?? [];
  const fits = hits.length > 0 && filters.length > 0 ? compileFilter({ all: filters }) : undefined;
  const detailsOfHit = search.details && detailsOf(view, segment, hits, search.details, search, statistics);
  return hits.map((hit, at) => {
    const { ordinal, rowVersion } = hit.candidate;
    if (isLater(rowVersion, before)) return undefined;
    const version = { memory: view.memory, collection: segment.id, ordinal, rowVersion };
    const kept = view.cache.get(version);
    const chunk = kept ?? readPayload(view, segment, ordinal, documents);
    // The store may be ahead of the indexes by a change of metadata, which is not acknowledged yet.
    const layers = chunk && fits && layersOf(chunk);
    if (fits && layers && !fits(layers)) return undefined;
    const hydrated = chunk && hydrateHit(search, segment, hit, chunk, { at, layers }, detailsOfHit);
    if (!hydrated || segment.index.rowVersionOf(ordinal) !== rowVersion) return undefined;
    if (!kept) view.cache.keep(version, chunk);
    return hydrated;
  });
}

function hydrateHit(
  search: CollectionSearch,
  segment: SegmentView,
  hit: ScoredHit,
  chunk: ChunkPayload,
  { at, layers }: { readonly at: number; readonly layers: MetaLayers | undefined },
  detailsOfHit?: DetailsOf,
): HydratedHit | undefined {
  const { jsonPrefix, priorityKey, filteredBy, withPieces } = search;
  const { candidate, basis, boosted, score } = hit;
  // The scores of several queries have the priority already.
  const value = basis.mode === 'queries' ? 0 : segment.priorities.of(candidate.ordinal);
  const details = detailsOfHit?.(at, chunk, value);
  if (details === 'irrelevant') return IRRELEVANT;
  if (details === 'changed') return undefined;
  if (hit.group !== undefined && details) details.group = hit.group;
  const fields = search.details?.fields;
  // Written field by field: spreading one literal into another cost a third of the hydration time.
  const reason =
    fields?.reason === false && !withPieces
      ? ''
      : matchReason(
          basis,
          filteredBy,
          () => layers ?? layersOf(chunk),
          { key: priorityKey, value, before: boosted?.score ?? scoreOf(basis), after: score },
          boosted,
        );
  const shown = fields ? shownOf(chunk, fields) : chunk;
  const json = joinHit(jsonPrefix, shown, score, reason, details && detailsJson(details, score));
  if (!withPieces) return { id: chunk.id, json };
  const text = textOf(chunk);
  const pieces: HitPieces = {
    jsonPrefix,
    id: chunk.id,
    ...(text !== undefined && { text }),
    shown: {
      idJson: shown.idJson,
      ...(shown.textJson !== undefined && { textJson: shown.textJson }),
      metaJson: shown.metaJson,
    },
    reason,
    priority: { key: priorityKey, value },
    ...(boosted && { boosted }),
    details: details ?? {},
    ...(fields?.reason === false && { isReasonHidden: true as const }),
  };
  return { id: chunk.id, json, pieces };
}
