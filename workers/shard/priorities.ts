// The priorities of a part's chunks, in shared memory: of most parts there are none, and then they take no memory. A
// thin door to assembly/priorities.ts. The owner's thread writes; any thread reads, through a PartView.
import type { Ordinal } from '../../src/contract/ids.js';
import { addressOf, countOf, type Instance } from './instance.js';
import { PRIORITIES_COUNT } from './reader-layout.js';
import type { Bitmap } from './words/word-answers.js';

export class Priorities {
  /** `at` is the address of the column, 0 for none. */
  constructor(
    private readonly instance: Instance,
    private at: number,
  ) {}

  get root(): number {
    return this.at;
  }

  /** Chunks whose priority is not 0. */
  get count(): number {
    return this.at === 0 ? 0 : this.instance.word(this.at + PRIORITIES_COUNT);
  }

  /** 0 for a chunk that has none. */
  of(ordinal: Ordinal): number {
    return this.at === 0 ? 0 : this.instance.calls.priorityOf(this.at, ordinal);
  }

  /** The chunks whose priority is not 0. Throws ArenaFull. */
  bitmap(): Bitmap {
    if (this.at === 0) return new Uint32Array();
    const words = countOf(this.instance.calls.findPrioritized(this.instance.scratch, this.at));
    return this.instance.copyWords(this.instance.output, words);
  }

  /** Makes room for a priority, and the column where there is none. Throws ArenaFull. Owner only, as all below. */
  reserve(ordinal: Ordinal): void {
    this.at ||= addressOf(this.instance.calls.createPriorities());
    countOf(this.instance.calls.reservePriority(this.at, ordinal));
  }

  /** Requires room, unless it is 0. */
  set(ordinal: Ordinal, priority: number): void {
    if (priority !== 0 || this.of(ordinal) !== 0) this.instance.calls.setPriority(this.at, ordinal, priority);
  }

  /** Gives the memory back. Requires that readers do not find it any more. */
  drop(): void {
    if (this.at !== 0) this.instance.calls.dropPriorities(this.at);
  }
}
