// The segment directory of an arena: maps a collection to the roots of its indexes in shared memory. The table itself
// is in kernel/memory/segment-directory.ts. The owner inserts and removes segments; any thread looks them up, readers
// inside Kernel.read.
import type { CollectionId } from '../../api/ids.js';
import { addressOf, type Instance } from '../memory/bindings.js';
import {
  SEGMENT_ARENAS,
  SEGMENT_FIELDS,
  SEGMENT_PRIORITIES,
  SEGMENT_TEXT,
  SEGMENT_USED_AT,
  SEGMENT_VECTORS,
} from '../memory/layout.js';

/**
 * Addresses of the roots of a segment's indexes: 0 for an index that does not exist or is not complete, LOST for one
 * that did not fit in memory. A collection with no vectors and no arenas is evicted: it has documents in the store and
 * is not in memory.
 */
export interface SegmentRoots {
  readonly vectors: number;
  readonly textIndex: number;
  readonly fields: number;
  readonly priorities: number;
  /**
   * In the home arena: one bit for each arena that holds a segment of the collection; 0 if only the home arena does.
   * Set before `vectors` and cleared after it, so a reader that finds the home arena's bit without vectors knows that
   * the collection is being loaded or evicted.
   */
  readonly arenas: number;
}

/** What tells whether a collection has moved or been evicted since it was looked up. */
export type SegmentPlace = Pick<SegmentRoots, 'vectors' | 'arenas'>;

const FIELD_OF: Readonly<Record<keyof SegmentRoots, number>> = {
  vectors: SEGMENT_VECTORS,
  textIndex: SEGMENT_TEXT,
  fields: SEGMENT_FIELDS,
  priorities: SEGMENT_PRIORITIES,
  arenas: SEGMENT_ARENAS,
};

/** The segment directory of one arena. The owner writes, any thread reads. */
export class SegmentDirectory {
  constructor(private readonly instance: Instance) {}

  /**
   * Looks a segment up. Records its use if `second`, the current time in seconds, is given; the shared word is written
   * at most once a second.
   */
  get(id: CollectionId, second?: number): SegmentRoots | undefined {
    const at = this.instance.calls.findSegment(id) >>> 0;
    if (at === 0) return undefined;
    if (second !== undefined && this.instance.word(at + SEGMENT_USED_AT) !== second)
      this.instance.setWord(at + SEGMENT_USED_AT, second);
    const root = (name: keyof SegmentRoots): number => this.instance.word(at + FIELD_OF[name]);
    return {
      vectors: root('vectors'),
      textIndex: root('textIndex'),
      fields: root('fields'),
      priorities: root('priorities'),
      arenas: root('arenas'),
    };
  }

  /**
   * The vectors root and the arenas only, so that a reader can check whether they have changed; undefined if the
   * collection has no entry.
   */
  placeOf(id: CollectionId): SegmentPlace | undefined {
    const at = this.instance.calls.findSegment(id) >>> 0;
    return at === 0
      ? undefined
      : { vectors: this.instance.word(at + SEGMENT_VECTORS), arenas: this.instance.word(at + SEGMENT_ARENAS) };
  }

  /** The second in which the segment was last used; 0 if it has no entry. */
  usedAt(id: CollectionId): number {
    const at = this.instance.calls.findSegment(id) >>> 0;
    return at === 0 ? 0 : this.instance.word(at + SEGMENT_USED_AT);
  }

  /**
   * Inserts a segment, or replaces some roots of an existing one, which cannot fail. Throws ArenaFull and then changes
   * nothing.
   */
  set(id: CollectionId, roots: Partial<SegmentRoots>): void {
    const at = addressOf(this.instance.calls.addSegment(id));
    for (const [name, root] of Object.entries(roots))
      this.instance.setWord(at + FIELD_OF[name as keyof SegmentRoots], root);
  }

  /** Removes a segment, so that no reader finds it any more. Drop its indexes only after this. */
  delete(id: CollectionId): void {
    this.instance.calls.deleteSegment(id);
  }
}
