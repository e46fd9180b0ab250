// A search of a collection whose shards several nodes hold: each part of the shards looks up the words and ranks by the
// statistics of all, the rankings are merged here as those of the shards of one machine are, and each part hydrates its
// hits. The answer is that of one machine. Runs on front threads and on the main thread.
import { setTimeout as sleep } from 'node:timers/promises';
import { FACET_VALUES_MAX } from '../../api/limits.js';
import type { SearchTiming } from '../../api/search.js';
import { foundFrom, meanCosineOf, rankedTerms } from '../../engine/search/answer.js';
import type { CollectionCount } from '../../engine/search/count.js';
import { type Counted, sumCounted } from '../../engine/search/facets.js';
import { likeVector } from '../../engine/search/like-vector.js';
import {
  type PlacedCandidate,
  type Ranking,
  type Round,
  type ScoredHit,
  mergePlaced,
  placedReader,
  scoreMerged,
} from '../../engine/search/merge.js';
import type { CollectionSearch, CosineSample, Found, SortSettings, WordMatching } from '../../engine/search/params.js';
import type { HydratedHit } from '../../engine/search/payload.js';
import { fusedRanking } from '../../engine/search/queries.js';
import { type Selected, selected } from '../../engine/search/select.js';
import { compare, sortedPage } from '../../engine/search/sort-key.js';
import type {
  FoundExamples,
  FoundWords,
  HydratedHits,
  RankedShards,
  RankedView,
  SearchStep,
  SortedShards,
  StepAnswer,
} from '../../engine/search/step-messages.js';
import { type Vocabulary, termsFor, vocabularyOver, withAlternatives } from '../../engine/search/words.js';
import { type LexicalStatistics, sumStatistics } from '../../ranking/bm25.js';

/** Some shards of a collection, and the node that searches them. */
export interface Part {
  readonly shards: readonly number[];
  /** Every step of a search is taken by the same process; rejects if that is not possible. */
  readonly take: <T extends StepAnswer>(step: SearchStep) => Promise<T>;
  readonly count: (count: CollectionCount) => Promise<Counted>;
}

/** Hits that change while they are searched are looked for so often again, and then left out. */
const ATTEMPTS_MAX = 10;
const PAUSE_MS = 5;
/** Views of one part. */
const VIEWS_MAX = 4096;

/** Rejects as the steps of the parts do. */
export async function searchParts(parts: readonly Part[], search: CollectionSearch): Promise<Found> {
  for (let attempts = 1; ; attempts++) {
    const { found, hasChanged } = await new PartedSearch(parts, search).run();
    if (!hasChanged || attempts === ATTEMPTS_MAX) return found;
    await sleep(PAUSE_MS);
  }
}

/** Rejects as the steps of the parts do, and with a 422 for a field with more than FACET_VALUES_MAX values. */
export async function countParts(parts: readonly Part[], asked: CollectionCount): Promise<Counted> {
  const { collection, matching, facets } = asked;
  let { terms } = asked;
  if (terms && matching) {
    const { vocabulary } = await lookUp(parts, { collection, matching, terms: [] });
    terms = termsFor(vocabulary, terms, matching);
  }
  const own = facets.map((facet) => ({ ...facet, size: FACET_VALUES_MAX }));
  const counts = parts.map(({ count, shards }) => count({ ...asked, shards, terms, matching: undefined, facets: own }));
  return sumCounted(await Promise.all(counts), facets);
}

interface Looked {
  readonly vocabulary: Vocabulary;
  readonly statistics: readonly LexicalStatistics[];
}

async function lookUp(
  parts: readonly Part[],
  asked: Pick<CollectionSearch, 'collection'> & { terms: readonly string[]; matching?: WordMatching | undefined },
): Promise<Looked> {
  const found = await Promise.all(
    parts.map(({ take, shards }) => take<FoundWords>({ step: 'words', ...asked, shards })),
  );
  return {
    vocabulary: vocabularyOver(found.flatMap(({ words }) => words ?? [])),
    statistics: found.map(({ statistics }) => statistics),
  };
}

/** A query with the words that stand for its own, and with the statistics of all shards. */
interface PreparedQuery {
  readonly query: CollectionSearch;
  readonly statistics: LexicalStatistics;
}

const NONE_RANKED: Ranking = { lists: [], hits: [] };
const LIKE = ['body', 'like'];

class PartedSearch {
  /** The views of each part as they were ranked first. */
  private readonly views: RankedView[][];
  private readonly samples: CosineSample[] = [];
  /** Whether rows were removed between two rankings. */
  private hasLost = false;
  private readonly timing: SearchTiming = { embed_ms: 0, filter_ms: 0, hydrate_ms: 0, search_ms: 0 };

  constructor(
    private readonly parts: readonly Part[],
    private readonly search: CollectionSearch,
  ) {
    this.views = parts.map(() => []);
  }

  async run(): Promise<{ found: Found; hasChanged: boolean }> {
    const { search } = this;
    const main = await this.prepared(search, LIKE);
    const chosen = await this.chosen(main);
    const { hydrated, hasLost } = await this.hydrate(main, chosen.hits);
    const { found, isWhole } = foundFrom(hydrated, chosen, search, this.timing);
    return { found, hasChanged: !isWhole || hasLost || this.hasLost };
  }

  /** `at`: where the examples stand in the request. */
  private async prepared(asked: CollectionSearch, at: readonly (string | number)[]): Promise<PreparedQuery> {
    const { query, statistics } = await this.worded(asked);
    const { like, collection } = query;
    if (!like) return { query, statistics };
    const steps = this.parts.map(({ take, shards }) =>
      take<FoundExamples>({ step: 'examples', collection, shards, like }),
    );
    const found = await Promise.all(steps);
    const examples = found[0]?.vectors.map((_, i) => found.flatMap(({ vectors }) => vectors[i] ?? [])[0]) ?? [];
    return { query: { ...query, vector: likeVector(like, examples, at) }, statistics };
  }

  private async worded(query: CollectionSearch): Promise<PreparedQuery> {
    const { parts } = this;
    const { collection, matching, lexical } = query;
    const asked = rankedTerms(query);
    const isMatched = matching !== undefined && lexical !== undefined && lexical.terms.length > 0;
    if (!isMatched && asked.terms.length === 0) return { query, statistics: sumStatistics([], []) };
    const first = await lookUp(parts, { collection, terms: asked.terms, ...(isMatched && { matching }) });
    const widened = isMatched ? withAlternatives(first.vocabulary, query) : query;
    const { terms, counts, alternatives } = rankedTerms(widened);
    const { statistics } = widened === query ? first : await lookUp(parts, { collection, terms });
    return { query: widened, statistics: sumStatistics(statistics, counts, alternatives?.groups) };
  }

  private async chosen(main: PreparedQuery): Promise<Selected> {
    const { query } = main;
    const { sort, fused } = query;
    if (sort) return this.sorted(query, sort);
    if (fused) {
      const rank = await this.fused(fused);
      return selected(placedReader, query, rank);
    }
    // The choice asks for the same rankings in the same order each time, so it is made anew with one more until it has all.
    const made: Ranking[] = [];
    for (;;) {
      let asked = 0;
      const missing: { query: CollectionSearch; round: Round | undefined }[] = [];
      const chosen = selected(placedReader, query, (deeper, round) => {
        const ranking = made[asked++];
        if (!ranking) missing.push({ query: deeper, round });
        return ranking ?? NONE_RANKED;
      });
      const [first] = missing;
      if (!first) return chosen;
      made.push(await this.ranked({ ...main, query: first.query }, made.length === 0, first.round));
    }
  }

  private async fused(fused: NonNullable<CollectionSearch['fused']>): Promise<() => Ranking> {
    const { search } = this;
    const queries: { query: CollectionSearch; at: readonly (string | number)[] }[] = [];
    fusedRanking(placedReader.locate, search, fused, (query, at) => (queries.push({ query, at }), NONE_RANKED))();
    const rankings = await Promise.all(
      queries.map(async ({ query, at }, i) => this.ranked(await this.prepared(query, at), i === 0)),
    );
    let asked = 0;
    return fusedRanking(placedReader.locate, search, fused, () => rankings[asked++] ?? NONE_RANKED);
  }

  private async sorted(search: CollectionSearch, sort: SortSettings): Promise<Selected> {
    const { collection } = search;
    const startedAtMs = performance.now();
    const steps = this.parts.map(({ take, shards }) =>
      take<SortedShards>({ step: 'sort', collection, search: { ...search, shards }, sort }),
    );
    const found = await Promise.all(steps);
    const entries = found.flatMap((each, part) => {
      const places = each.views.map((view) => this.placeOf(view, part));
      return each.entries.map((entry) => ({ ...entry, shard: places[entry.shard] as number }));
    });
    if (found.some(({ isBehind }) => isBehind)) this.hasLost = true;
    this.timing.search_ms += performance.now() - startedAtMs;
    return {
      ...sortedPage(
        entries.sort((a, b) => compare(a, b, sort)),
        search,
        sort,
      ),
      lists: [],
    };
  }

  /** `isSampled`: the relevance of hits is estimated by this ranking. */
  private async ranked({ query, statistics }: PreparedQuery, isSampled: boolean, round?: Round): Promise<Ranking> {
    const { collection } = query;
    const startedAtMs = performance.now();
    const steps = this.parts.map(({ take, shards }) =>
      take<RankedShards>({ step: 'rank', collection, search: { ...query, shards }, statistics, round }),
    );
    const found = await Promise.all(steps);
    if (isSampled) this.samples.push(...found.flatMap(({ samples }) => samples));
    const lists = (of: 'vector' | 'lexical'): PlacedCandidate[][] =>
      found.map((each, part) => {
        const places = each.views.map((view) => this.placeOf(view, part));
        return each[of].map((candidate) => ({ ...candidate, shard: places[candidate.shard] as number }));
      });
    const byVector = mergePlaced(lists('vector'), query.depth);
    const byTerms = mergePlaced(lists('lexical'), query.depth);
    const hits = scoreMerged(placedReader.locate, byVector, () => byTerms, query, round);
    this.addTimes(
      found.map(({ timing }) => timing),
      performance.now() - startedAtMs,
    );
    return { lists: [], hits, bestBm25: byTerms[0]?.score };
  }

  /** The number of a view among those of all parts. Of what several rankings saw of it, the earliest counts. */
  private placeOf(view: RankedView, part: number): number {
    const views = this.views[part] as RankedView[];
    const place = views.findIndex(
      ({ memory, incarnation }) => memory === view.memory && incarnation === view.incarnation,
    );
    if (place < 0) return part * VIEWS_MAX + views.push(view) - 1;
    const known = views[place] as RankedView;
    if (known.removals !== view.removals) this.hasLost = true;
    if (((view.before - known.before) | 0) < 0) views[place] = view;
    return part * VIEWS_MAX + place;
  }

  private async hydrate(
    { query, statistics }: PreparedQuery,
    hits: readonly ScoredHit[],
  ): Promise<{ hydrated: (HydratedHit | undefined)[]; hasLost: boolean }> {
    const startedAtMs = performance.now();
    const hydrated: (HydratedHit | undefined)[] = new Array<undefined>(hits.length).fill(undefined);
    const meanCosine = meanCosineOf(this.samples);
    const steps = this.parts.map(async ({ take, shards }, part) => {
      const places = [...hits.keys()].filter((i) => partOf(hits[i] as ScoredHit) === part);
      const found = await take<HydratedHits>({
        step: 'hydrate',
        collection: query.collection,
        search: { ...query, shards },
        statistics: { lexical: statistics, meanCosine },
        views: this.views[part] as RankedView[],
        hits: places.map((i) => ownOf(hits[i] as ScoredHit)),
      });
      found.hits.forEach((hit, n) => (hydrated[places[n] as number] = hit ?? undefined));
      return found.hasLost;
    });
    const hasLost = (await Promise.all(steps)).some(Boolean);
    this.timing.hydrate_ms += performance.now() - startedAtMs;
    return { hydrated, hasLost };
  }

  /** The parts rank at the same time, so the slowest counts, and what messages take. */
  private addTimes(timings: readonly SearchTiming[], elapsedMs: number): void {
    const most = (of: (timing: SearchTiming) => number | undefined): number =>
      Math.max(...timings.map((timing) => of(timing) ?? 0));
    const { timing } = this;
    const filterMs = most(({ filter_ms: ms }) => ms);
    timing.filter_ms += filterMs;
    timing.search_ms += Math.max(0, elapsedMs - filterMs);
    for (const phase of ['vector_search_ms', 'lexical_search_ms'] as const)
      if (timings.some((each) => each[phase] !== undefined))
        timing[phase] = (timing[phase] ?? 0) + most((each) => each[phase]);
  }
}

const partOf = ({ candidate: { shard } }: ScoredHit): number => Math.floor(shard / VIEWS_MAX);

/** The hit as its part knows it, without what was read of it. */
function ownOf(hit: ScoredHit): ScoredHit {
  const { shard, ordinal, rowVersion, score, cosine, bm25, priority, matched } = hit.candidate;
  return {
    ...hit,
    candidate: { shard: shard % VIEWS_MAX, ordinal, rowVersion, score, cosine, bm25, priority, matched },
  };
}
