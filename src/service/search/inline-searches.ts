// Runs short searches on the thread that has received them, over the shared memories and stores of all shards, and
// leaves long ones to search workers. What a search will cost is estimated by the CPU time of the latest ones of its
// kind in its collection, since elapsed time would say more of other threads than of the search; a kind that is not
// known yet goes to a worker first. Front threads only.
import type { CollectionId } from '../../api/ids.js';
import { AppError } from '../../api/errors.js';
import { threadCpuMs } from '../../base/native-threads.js';
import { endThread } from '../../base/thread.js';
import type { CancelSignal } from '../../base/signals.js';
import { type CollectionSearch, type Found, type SearchResult, isDefault } from '../../engine/search/params.js';
import { searchOnce } from '../../engine/search/search.js';
import type { ShardSet } from '../../engine/search/snapshot.js';
import { DamagedRecord } from '../../storage/damage.js';
import type { FairTurns } from '../fair-turns.js';
import type { ShardsContext } from './shards.js';

/** A search that is expected to take longer goes to a search worker. */
const INLINE_MS_MAX = 1;
/** Reading the CPU time of a thread costs some microseconds, so one search in so many is measured. */
const MEASURED_EVERY = 64;
/** Weight of the latest search in the estimate of its kind. */
const LATEST_WEIGHT = 0.2;
/** Maximum number of collections with estimates; when it is exceeded, all are measured anew. */
const COLLECTIONS_MAX = 16_384;

/** Estimated costs of searches by collection and kind. */
class SearchCosts {
  private readonly kinds = new Map<CollectionId, Float32Array>();

  /** NaN if no search of the kind has been measured. */
  of(search: CollectionSearch): number {
    return this.kinds.get(search.collection.id)?.[kindOf(search)] ?? NaN;
  }

  /** Records a finished search: its CPU time, and the time in which it may have waited for the disk. */
  took(search: CollectionSearch, cpuMs: number, { timing: { hydrate_ms: hydrateMs } }: Found): void {
    const ms = cpuMs + hydrateMs;
    const { id } = search.collection;
    let costs = this.kinds.get(id);
    if (!costs) {
      if (this.kinds.size >= COLLECTIONS_MAX) this.kinds.clear();
      this.kinds.set(id, (costs = new Float32Array(KINDS).fill(NaN)));
    }
    const kind = kindOf(search);
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
  readonly workers: ShardsContext['searches'];
  /** Whether a damaged record has been found in the collection. */
  readonly isDamaged: (collection: CollectionId) => boolean;
}

export class InlineSearches {
  private readonly costs = new SearchCosts();
  /** Number of searches that have begun on this thread. */
  private begun = 0;

  constructor(private readonly options: InlineSearchesOptions) {}

  /** Rejects as SearchPool.request does. */
  request(search: CollectionSearch, tenant: string, signal?: CancelSignal): Promise<SearchResult> {
    if (!(this.costs.of(search) <= INLINE_MS_MAX)) return this.byWorker(search, tenant, signal);
    return this.options.turns.run(tenant, () => this.now(search, tenant, signal), signal);
  }

  private async now(search: CollectionSearch, tenant: string, signal?: CancelSignal): Promise<SearchResult> {
    const { shards, isDamaged } = this.options;
    if (isDamaged(search.collection.id)) throw new AppError('collection_damaged');
    const isMeasured = ++this.begun % MEASURED_EVERY === 0;
    const startedAtMs = isMeasured ? threadCpuMs() : 0;
    let found: Found | undefined;
    try {
      found = searchOnce(shards, search);
      shards.tellCounts();
    } catch (error) {
      // A kernel that has failed may hold a lock of the shared memory, which is released when its thread has ended.
      if (!(error instanceof AppError || error instanceof DamagedRecord)) return endThread(error);
      // The worker that repeats the search reports what is wrong.
    }
    if (!found) return this.byWorker(search, tenant, signal);
    if (isMeasured) this.costs.took(search, threadCpuMs() - startedAtMs, found);
    return found;
  }

  private async byWorker(search: CollectionSearch, tenant: string, signal?: CancelSignal): Promise<SearchResult> {
    const result = await this.options.workers.request(search, tenant, signal);
    if (!Array.isArray(result)) this.costs.took(search, result.cpuMs ?? 0, result);
    return result;
  }
}
