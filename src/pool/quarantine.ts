// Collections of which a damaged record has been met. The pools ask for nothing of their documents any more, so that
// nothing wrong is answered and nothing is built upon it; other collections go on. Each is logged once by name. A
// restart forgets them, and finds again what is still damaged. Front thread.
import type { Log } from '../base/log.js';
import { AppError, type Outcome } from '../api/errors.js';
import type { CollectionId } from '../api/ids.js';

export class Quarantine {
  private readonly collections = new Set<CollectionId>();

  /** `nameOf`: tenant and name of a collection, for the log. */
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

  /** It is dropped, with what is damaged in it. */
  forget(collection: CollectionId): void {
    this.collections.delete(collection);
  }

  /**
   * Asks for something of a collection, unless it is in quarantine: then, and where the answer names damage, rejects
   * with `collection_damaged`.
   */
  async watch<T>(collection: CollectionId | undefined, ask: () => Promise<T>): Promise<T> {
    if (collection !== undefined && this.collections.has(collection)) throw new AppError('collection_damaged');
    try {
      const answer = await ask();
      // Lists of other things than results have a field of this name too, such as a failed job's error.
      if (collection !== undefined && Array.isArray(answer))
        for (const outcome of answer as (Outcome<unknown> | null)[])
          if (typeof outcome === 'object' && outcome && 'error' in outcome) this.note(AppError.fromWire(outcome.error));
      return answer;
    } catch (error) {
      if (!this.note(error)) throw error;
      throw new AppError('collection_damaged');
    }
  }

  /** True for damage. */
  private note(error: unknown): boolean {
    if (!(error instanceof AppError) || error.code !== 'collection_damaged') return false;
    const { collection } = error.options;
    if (collection !== undefined && !this.collections.has(collection as CollectionId)) {
      this.collections.add(collection as CollectionId);
      this.log.error(
        { ...this.nameOf(collection as CollectionId), damage: error.message },
        'a collection is damaged and not served any more: stop the server, and run sheaf check and sheaf repair',
      );
    }
    return true;
  }
}
