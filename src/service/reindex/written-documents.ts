// Which documents clients have written: in collections that a job follows, the ids of documents that it has to look at
// again, and the collections themselves, which may have outgrown their shards. In a cluster also the documents that other
// nodes have written. Main thread only, through which all writes go.
import type { CollectionId, DocId } from '../../api/ids.js';

export class WrittenDocuments {
  private readonly followed = new Map<CollectionId, Set<DocId>>();
  /** Collections written since the last look at their sizes. No more than there are collections. */
  readonly collections = new Set<CollectionId>();

  /** Called when writes of these documents have ended, whatever their result. */
  note(collection: CollectionId, docids: readonly DocId[]): void {
    this.collections.add(collection);
    const noted = this.followed.get(collection);
    if (noted) for (const docid of docids) noted.add(docid);
  }

  /** Whether the documents of any collection are noted. */
  get isFollowing(): boolean {
    return this.followed.size > 0;
  }

  /** Notes the documents of a collection from now on, until `leave`. */
  follow(collection: CollectionId): void {
    this.followed.set(collection, new Set());
  }

  leave(collection: CollectionId): void {
    this.followed.delete(collection);
  }

  /** The number of documents that are noted. */
  count(collection: CollectionId): number {
    return this.followed.get(collection)?.size ?? 0;
  }

  /** Returns the documents that are noted, and forgets them. */
  take(collection: CollectionId): DocId[] {
    const noted = this.followed.get(collection);
    const docids = [...(noted ?? [])];
    noted?.clear();
    return docids;
  }
}
