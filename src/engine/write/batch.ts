// Several documents of a batch in one command: taken apart before the write, written in one commit with whatever stands
// next to them, and their outcomes put together after it. Owner only.
import type { CollectionRef } from '../../api/collections.js';
import type { Outcome } from '../../api/errors.js';
import { DamagedRecord } from '../../storage/damage.js';
import type { PackedDocuments } from '../../text/prepared-document.js';
import { outcomeOf } from '../errors.js';
import type { Shard } from '../shard.js';
import type { PartCommand, ShardAnswer, ShardRequest, TwinWrite, WriteCommand } from './commands.js';
import { type DocumentWrite, type WriteAnswer, applyWrites } from './write.js';

/** The collections that are written to, each once. */
export const refsOf = (commands: readonly PartCommand[]): Iterable<CollectionRef> =>
  new Map(commands.flatMap(targetsOf).map((ref) => [ref.id, ref])).values();

function targetsOf(command: PartCommand): CollectionRef[] {
  const twins = 'twins' in command ? (command.twins ?? []) : [];
  return [command.collection, ...twins.map((twin) => ('collection' in twin ? twin.collection : twin))];
}

/** The single writes of the commands, in order. */
export const singleWrites = (commands: readonly WriteCommand[]): DocumentWrite[] => commands.flatMap(singlesOf);

function singlesOf(command: WriteCommand): DocumentWrite[] {
  if (command.op === 'putMany') return puts(command);
  return command.op === 'putStaged' ? stagedPuts(command) : [command];
}

/** The outcome of each command from those of its single writes: one of several documents answers all of its own. */
export function outcomesOf(
  commands: readonly WriteCommand[],
  outcomes: readonly Outcome<WriteAnswer>[],
): Outcome<ShardAnswer<WriteCommand['op']>>[] {
  let at = 0;
  return commands.map((command): Outcome<ShardAnswer<WriteCommand['op']>> => {
    if (!('ends' in command)) return outcomes[at++] as Outcome<WriteAnswer>;
    const own = outcomes.slice(at, (at += command.ends.length));
    return { value: own as ShardAnswer<'putMany'> };
  });
}

function puts({ collection, twins, ...packed }: ShardRequest<'putMany'>): ShardRequest<'put'>[] {
  const rows = rowsOf(packed);
  return documentsOf(packed).map((document, i) => {
    const span = rows[i] as Span;
    const own = twins?.map(
      (twin): TwinWrite => ({
        ...twin,
        vectors: twin.vectors instanceof Float32Array ? rowsIn(twin.vectors, twin.collection, span) : twin.vectors,
      }),
    );
    return {
      op: 'put',
      collection,
      document,
      vectors: rowsIn(packed.vectors, collection, span),
      ...(own && { twins: own }),
    };
  });
}

function stagedPuts({ collection, source, versions, ...packed }: ShardRequest<'putStaged'>): DocumentWrite[] {
  const rows = rowsOf(packed);
  return documentsOf(packed).map((document, i) => ({
    op: 'putStaged',
    collection,
    source,
    document,
    version: versions[i] as number,
    vectors: rowsIn(packed.vectors, collection, rows[i] as Span),
  }));
}

type Span = readonly [from: number, to: number];

/** Views of the documents and their rows, not copies. */
const documentsOf = ({ documents, ends }: PackedDocuments): Uint8Array[] =>
  ends.map((end, i) => documents.subarray(ends[i - 1] ?? 0, end));
const rowsIn = (vectors: Float32Array, { dim }: CollectionRef, [from, to]: Span): Float32Array =>
  vectors.subarray(from * dim, to * dim);

function rowsOf({ chunks }: PackedDocuments): Span[] {
  let row = 0;
  return chunks.map((count) => [row, (row += count)]);
}

/**
 * Applies the writes of a batch in one commit. Where a damaged record is met on the way, or the commit fails, none is
 * applied; then damage in one collection must not stop the others: each write is tried by itself. In the order of the
 * writes.
 */
export function writeAll(shard: Shard, writes: readonly DocumentWrite[]): Outcome<WriteAnswer>[] {
  try {
    return applyWrites(shard, writes);
  } catch (error) {
    if (error instanceof DamagedRecord && writes.length > 1) return writes.flatMap((write) => writeAll(shard, [write]));
    const outcome = outcomeOf(error, writes[0]?.collection.id);
    return writes.map(() => outcome);
  }
}
