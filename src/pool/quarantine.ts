// Collections in which a damaged record was found. Requests for their documents are rejected, so that nothing wrong is
// returned or built on; other collections are not affected. Each one is logged once, with its name. A restart clears
// the quarantine; damage that remains is found again. Runs on the main thread.
import type { Log } from '../base/log.js';
import { AppError, type Result } from '../api/errors.js';
import type { CollectionId } from '../api/ids.js';

export class Quarantine {
  private readonly collections = new Set<CollectionId>();
  private listener: () => void = () => undefined;

  /** `nameOf` gives the tenant and name of a collection, for the log. */
  constructor(
    private readonly nameOf: (collection: CollectionId) => object | undefined,
    private readonly log: Log,
  ) {}

  get size(): number {
    return this.collections.size;
  }

  has(collection: CollectionId): boolean {
    return this.collections.has(collection);
  }

  all(): CollectionId[] {
    return [...this.collections];
  }

  /** `listener` is called after each change. */
  subscribe(listener: () => void): void {
    this.listener = listener;
  }

  /** Called when a collection is deleted, with its damaged records. */
  forget(collection: CollectionId): void {
    if (this.collections.delete(collection)) this.listener();
  }

  /**
   * Runs `ask` for a collection. Rejects with `collection_damaged` if the collection is in quarantine, or if the answer
   * reports damage, which puts it there.
   */
  async watch<T>(collection: CollectionId | undefined, ask: () => Promise<T>): Promise<T> {
    if (collection !== undefined && this.collections.has(collection)) throw new AppError('collection_damaged');
    try {
      const answer = await ask();
      // Only collections' answers that are lists of results are checked; other lists have a field of this name too,
      // such as the error of a failed job.
      if (collection !== undefined && Array.isArray(answer))
        for (const result of answer as (Result<unknown> | null)[])
          if (typeof result === 'object' && result && 'error' in result) this.note(AppError.fromWire(result.error));
      return answer;
    } catch (error) {
      if (!this.note(error)) throw error;
      throw new AppError('collection_damaged');
    }
  }

  /** Puts the collection of a damage error into quarantine; returns false for other errors. */
  private note(error: unknown): boolean {
    if (!(error instanceof AppError) || error.code !== 'collection_damaged') return false;
    const { collection } = error.options;
    if (collection !== undefined && !this.collections.has(collection as CollectionId)) {
      this.collections.add(collection as CollectionId);
      this.listener();
      this.log.error(
        { ...this.nameOf(collection as CollectionId), damage: error.message },
        'a collection is damaged and no longer served; stop the server, and run sheaf check and sheaf repair',
      );
    }
    return true;
  }
}
