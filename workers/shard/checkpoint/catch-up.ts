// Parts that a checkpoint has brought back, on their way to what the store has now: the log of changes names the rows
// that may differ, and of each of them the store decides. As a load from the store, it goes in slices, readers do not
// find the parts before it is done, and nothing writes to them. Made by revival.ts, done by part-loads.ts; shard worker
// only.
import { defined } from '../../../src/base/assert.js';
import type { Ordinal } from '../../../src/contract/ids.js';
import type { CollectionRef } from '../../../src/contract/resources.js';
import { arenaOf, rowOf } from '../../../src/contract/ordinals.js';
import type { ShardTxn } from '../../../src/store/shard-txn.js';
import { readDocument } from '../documents.js';
import type { Part } from '../part.js';
import { FieldTerms } from '../part-fields.js';
import { PartLoad } from '../part-load.js';
import type { PartTable } from '../part-table.js';
import type { PartTerms } from '../part-terms.js';

/** What the indexes of terms have of a row as it was; undefined where that is not known, null for nothing. */
export interface OldSource {
  readonly text: string | null | undefined;
  readonly terms: readonly string[] | undefined;
}

export class CatchUp extends PartLoad {
  private readonly left: Iterator<[Ordinal, OldSource]>;
  private next: [Ordinal, OldSource] | undefined;

  /** `changed`: the rows that may differ, with what they were. */
  constructor(
    parts: PartTable,
    ref: CollectionRef,
    restored: readonly Part[],
    changed: ReadonlyMap<Ordinal, OldSource>,
  ) {
    super(parts, ref);
    for (const part of restored) this.made.set(part.arena, part);
    this.left = changed.entries();
    this.step();
  }

  /** After ArenaFull it goes on with the same row, which has been taken out then and not been put in. */
  override proceed(txn: ShardTxn, untilMs: number): Part[] | undefined {
    const terms = new FieldTerms(txn, this.ref.id);
    while (this.next) {
      const [ordinal, source] = this.next;
      const part = this.partIn(arenaOf(ordinal));
      takeOut(part, rowOf(ordinal), source);
      putIn(txn, part, rowOf(ordinal), terms);
      if (this.step() && performance.now() >= untilMs) return undefined;
    }
    return [...this.made.values()];
  }

  /** To the next row; false behind the last. */
  private step(): boolean {
    const { done, value } = this.left.next();
    this.next = done ? undefined : value;
    return !done;
  }
}

function takeOut(part: Part, row: Ordinal, { text, terms }: OldSource): void {
  if (!part.index.isLive(row)) return;
  part.words = without(part.words, row, text);
  part.fields = without(part.fields, row, terms);
  part.index.remove(row);
  part.priorities.set(row, 0);
  part.ordinals.release(row);
}

/** Where it is not known what the index has of the row, it goes, and is made again when it is wanted. */
function without<S>(
  index: PartTerms<S> | undefined,
  row: Ordinal,
  source: S | null | undefined,
): PartTerms<S> | undefined {
  if (source === undefined) index?.drop();
  else if (source !== null) index?.remove(row, source);
  return source === undefined ? undefined : index;
}

function putIn(txn: ShardTxn, part: Part, row: Ordinal, terms: FieldTerms): void {
  const { ref, index, priorities, words, fields } = part;
  const vector = txn.vector(ref, part.stored(row));
  if (!vector) return;
  const chunk = defined(txn.findChunk(ref.id, part.stored(row)), `the chunk of vector ${ref.id}/${row}`);
  const { priority } = readDocument(txn, ref.id, chunk.docid);
  if (priority !== 0) priorities.reserve(row);
  index.stage(row, vector);
  index.publish(row);
  part.ordinals.claim(row);
  priorities.set(row, priority);
  const text = words && txn.text(ref.id, part.stored(row))?.toString();
  if (text !== undefined) words?.add(row, text);
  fields?.add(row, terms.of(chunk));
}
