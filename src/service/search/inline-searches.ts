// Runs short searches, and steps of searches, on the thread that has received them, over the shared memories and stores of
// all shards, and leaves long ones to search workers. What a search will cost is estimated by the CPU time of the latest
// ones of its kind in its collection, since elapsed time would say more of other threads than of the search; a kind that is
// not known yet goes to a worker first. Front threads only.
import type { CollectionId } from '../../api/ids.js';
import { AppError } from '../../api/errors.js';
import { threadCpuMs } from '../../base/native-threads.js';
import { endThread } from '../../base/thread.js';
import type { CancelSignal } from '../../base/signals.js';
import {
  type CollectionSearch,
  type MissingIndexes,
  type SearchResult,
  isDefault,
} from '../../engine/search/params.js';
import { searchOnce } from '../../engine/search/search.js';
import type { ShardSet } from '../../engine/search/snapshot.js';
import type { SearchStep, StepAnswer } from '../../engine/search/step-messages.js';
import { takeStep } from '../../engine/search/steps.js';
import type { SearchPool } from '../../pool/search-pool.js';
import { DamagedRecord } from '../../storage/damage.js';
import type { FairTurns } from '../fair-turns.js';

/** A search that is expected to take longer goes to a search worker. */
const INLINE_MS_MAX = 1;
/** Reading the CPU time of a thread costs some microseconds, so one search in so many is measured. */
const MEASURED_EVERY = 64;
/** Weight of the latest search in the estimate of its kind. */
const LATEST_WEIGHT = 0.2;
/** Maximum number of collections with estimates; when it is exceeded, all are measured anew. */
const COLLECTIONS_MAX = 16_384;

/** Estimated costs of searches, or of one of their steps, by collection and kind. */
class SearchCosts {
  private readonly kinds = new Map<CollectionId, Float32Array>();

  /** NaN if none of the kind has been measured. */
  of(collection: CollectionId, kind: number): number {
    return this.kinds.get(collection)?.[kind] ?? NaN;
  }

  took(collection: CollectionId, kind: number, ms: number): void {
    let costs = this.kinds.get(collection);
    if (!costs) {
      if (this.kinds.size >= COLLECTIONS_MAX) this.kinds.clear();
      this.kinds.set(collection, (costs = new Float32Array(KINDS).fill(NaN)));
    }
    const known = costs[kind] as number;
    costs[kind] = Number.isNaN(known) ? ms : known + (ms - known) * LATEST_WEIGHT;
  }
}

const KINDS = 512;

/** Searches of one kind in one collection take about as long as each other. */
function kindOf(search: CollectionSearch): number {
  const { vector, lexical, matching, filter, details, k, params, results, sort, like, boostBy, fused } = search;
  const ranking = lexical === undefined ? 0 : lexical.mode === 'boost' ? 1 : vector ? 2 : 3;
  const isDeep = k + (results?.offset ?? 0) > 32;
  const basic =
    ranking |
    (filter || like ? 4 : 0) |
    (details ? 8 : 0) |
    (isDeep ? 16 : 0) |
    (isDefault(params) ? 0 : 32) |
    (matching ? 256 : 0);
  if (fused) return 160 | ((fused.queries.length - 1) << 2) | (isDeep ? 2 : 0) | (filter ? 1 : 0);
  if (sort) return 128 | (filter ? 1 : 0) | (isDeep ? 2 : 0);
  return results || boostBy ? basic | 64 | (results?.group || results?.diversity || boostBy ? 128 : 0) : basic;
}

interface InlineSearchesOptions {
  readonly shards: ShardSet;
  readonly turns: FairTurns;
  /** The search workers. */
  readonly workers: Pick<SearchPool, 'request' | 'step'>;
  /** Whether a damaged record has been found in the collection. */
  readonly isDamaged: (collection: CollectionId) => boolean;
}

/** A search or one of its steps. */
interface Work<T> {
  readonly collection: CollectionId;
  readonly tenant: string;
  readonly costs: SearchCosts;
  readonly kind: number;
  /** Undefined if it has to be repeated by a search worker. */
  readonly here: () => T | undefined;
  readonly byWorker: () => Promise<T>;
  /** What the work took in milliseconds, given the time if this thread measured it; undefined if that is not known. */
  readonly cost: (done: T, ms?: number) => number | undefined;
  /** Measures the work. */
  readonly nowMs: () => number;
  readonly signal: CancelSignal | undefined;
}

export class InlineSearches {
  private readonly costs = new SearchCosts();
  private readonly stepCosts: Readonly<Record<SearchStep['step'], SearchCosts>> = {
    words: new SearchCosts(),
    examples: new SearchCosts(),
    rank: new SearchCosts(),
    sort: new SearchCosts(),
    hydrate: new SearchCosts(),
  };
  /** Number of searches that have begun on this thread. */
  private begun = 0;

  constructor(private readonly options: InlineSearchesOptions) {}

  /** Rejects as SearchPool.request does. */
  request(search: CollectionSearch, tenant: string, signal?: CancelSignal): Promise<SearchResult> {
    const { shards, workers } = this.options;
    return this.run<SearchResult>({
      collection: search.collection.id,
      tenant,
      costs: this.costs,
      kind: kindOf(search),
      here: () => searchOnce(shards, search),
      byWorker: () => workers.request(search, tenant, signal),
      // The disk may have been waited for.
      cost: (found, cpuMs) =>
        Array.isArray(found) ? undefined : (cpuMs ?? found.cpuMs ?? 0) + found.timing.hydrate_ms,
      nowMs: threadCpuMs,
      signal,
    });
  }

  /** Rejects as SearchPool.step does. */
  step(step: SearchStep, tenant: string, signal?: CancelSignal): Promise<StepAnswer | MissingIndexes[]> {
    const { shards, workers } = this.options;
    return this.run<StepAnswer | MissingIndexes[]>({
      collection: step.collection.id,
      tenant,
      costs: this.stepCosts[step.step],
      kind: 'search' in step ? kindOf(step.search) : 0,
      here: () => takeStep(shards, step),
      byWorker: () => workers.step(step, tenant, signal),
      cost: (answer, ms) => ms ?? (Array.isArray(answer) ? undefined : answer.costMs),
      // The disk may be waited for.
      nowMs: step.step === 'hydrate' ? (): number => performance.now() : threadCpuMs,
      signal,
    });
  }

  private run<T>(work: Work<T>): Promise<T> {
    const { collection, tenant, costs, kind, signal } = work;
    if (!(costs.of(collection, kind) <= INLINE_MS_MAX)) return this.byWorker(work);
    return this.options.turns.run(tenant, () => this.now(work), signal);
  }

  private async now<T>(work: Work<T>): Promise<T> {
    const { shards, isDamaged } = this.options;
    if (isDamaged(work.collection)) throw new AppError('collection_damaged');
    const isMeasured = ++this.begun % MEASURED_EVERY === 0;
    const startedAtMs = isMeasured ? work.nowMs() : 0;
    let done: T | undefined;
    try {
      done = work.here();
      shards.tellCounts();
    } catch (error) {
      // A kernel that has failed may hold a lock of the shared memory, which is released when its thread has ended.
      if (!(error instanceof AppError || error instanceof DamagedRecord)) return endThread(error);
      // The worker that repeats the search reports what is wrong.
    }
    if (!done) return this.byWorker(work);
    if (isMeasured) this.took(work, done, work.nowMs() - startedAtMs);
    return done;
  }

  private async byWorker<T>(work: Work<T>): Promise<T> {
    const done = await work.byWorker();
    this.took(work, done);
    return done;
  }

  private took<T>({ collection, costs, kind, cost }: Work<T>, done: T, measuredMs?: number): void {
    const ms = cost(done, measuredMs);
    if (ms !== undefined) costs.took(collection, kind, ms);
  }
}
