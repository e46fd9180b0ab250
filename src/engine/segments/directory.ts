// The directory of the parts in a shard's memory: where the indexes of a collection are. The table itself is in
// kernel/memory/segment-directory.ts. The owner enters and removes parts; any thread looks them up, readers within
// Kernel.read.
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
 * Addresses of the roots of a part's indexes; 0 for one that is not there or not complete, LOST for one that memory has
 * no room for. A collection without vectors and arenas is away: it has documents in the store and is not in memory.
 */
export interface PartRoots {
  readonly vectors: number;
  readonly words: number;
  readonly fields: number;
  readonly priorities: number;
  /**
   * In the home arena: a bit for each arena in which the collection has a part; 0 while it is nowhere else. Set before
   * the vectors, and cleared after them: who finds the home's bit and no vectors sees a collection come or leave.
   */
  readonly arenas: number;
}

export type PartPlace = Pick<PartRoots, 'vectors' | 'arenas'>;

const FIELD_OF: Readonly<Record<keyof PartRoots, number>> = {
  vectors: SEGMENT_VECTORS,
  words: SEGMENT_TEXT,
  fields: SEGMENT_FIELDS,
  priorities: SEGMENT_PRIORITIES,
  arenas: SEGMENT_ARENAS,
};

export class PartDirectory {
  constructor(private readonly instance: Instance) {}

  /** Notes its use where the present second is given: the word is written once a second, however many use it. */
  get(id: CollectionId, second?: number): PartRoots | undefined {
    const at = this.instance.calls.findPart(id) >>> 0;
    if (at === 0) return undefined;
    if (second !== undefined && this.instance.word(at + SEGMENT_USED_AT) !== second)
      this.instance.setWord(at + SEGMENT_USED_AT, second);
    const root = (name: keyof PartRoots): number => this.instance.word(at + FIELD_OF[name]);
    return {
      vectors: root('vectors'),
      words: root('words'),
      fields: root('fields'),
      priorities: root('priorities'),
      arenas: root('arenas'),
    };
  }

  /**
   * The root of its vectors and its arenas, for a reader who looks whether they are what they were; undefined where it
   * is nowhere.
   */
  placeOf(id: CollectionId): PartPlace | undefined {
    const at = this.instance.calls.findPart(id) >>> 0;
    return at === 0
      ? undefined
      : { vectors: this.instance.word(at + SEGMENT_VECTORS), arenas: this.instance.word(at + SEGMENT_ARENAS) };
  }

  /** The second at which the part was used last. */
  usedAt(id: CollectionId): number {
    const at = this.instance.calls.findPart(id) >>> 0;
    return at === 0 ? 0 : this.instance.word(at + SEGMENT_USED_AT);
  }

  /**
   * Enters a part, or exchanges some of the roots of one that is there, which cannot fail. Throws ArenaFull with
   * nothing changed.
   */
  set(id: CollectionId, roots: Partial<PartRoots>): void {
    const at = addressOf(this.instance.calls.addPart(id));
    for (const [name, root] of Object.entries(roots))
      this.instance.setWord(at + FIELD_OF[name as keyof PartRoots], root);
  }

  /** From now on nobody finds it. What its roots lead to is dropped after this. */
  delete(id: CollectionId): void {
    this.instance.calls.deletePart(id);
  }
}
