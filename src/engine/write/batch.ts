// Commands that write several documents: they are split into single writes, which are committed together with those of
// neighbouring commands, and the results are put together again for each command. Owner only.
import type { CollectionRef } from '../../api/collections.js';
import type { Result } from '../../api/errors.js';
import { DamagedRecord } from '../../storage/damage.js';
import type { AnswerToKeep } from '../../storage/kept-answers.js';
import type { PackedDocuments } from '../../text/prepared-document.js';
import { resultOf } from '../errors.js';
import type { Shard } from '../shard.js';
import type {
  DualWrite,
  SegmentCommand,
  ShardAnswer,
  ShardRequest,
  WriteCommand,
  DocumentWrite,
  WriteAnswer,
} from './commands.js';
import { applyWrites } from './write.js';

/** The collections that the commands write to, without repetition. */
export const refsOf = (commands: readonly SegmentCommand[]): Iterable<CollectionRef> =>
  new Map(commands.flatMap(targetsOf).map((ref) => [ref.id, ref])).values();

function targetsOf(command: SegmentCommand): CollectionRef[] {
  const dualWrites = 'dualWrites' in command ? (command.dualWrites ?? []) : [];
  return [command.collection, ...dualWrites.map((shadow) => ('collection' in shadow ? shadow.collection : shadow))];
}

/** The single writes of the commands, in order. */
export const singleWrites = (commands: readonly WriteCommand[]): DocumentWrite[] => commands.flatMap(singlesOf);

function singlesOf(command: WriteCommand): DocumentWrite[] {
  if (command.op === 'putMany') return puts(command);
  return command.op === 'putShadow' ? shadowPuts(command) : [command];
}

/**
 * The result of each command from the results of its single writes. A command with several documents has a result for
 * each of them.
 */
export function resultsOf(
  commands: readonly WriteCommand[],
  results: readonly Result<WriteAnswer>[],
): Result<ShardAnswer<WriteCommand['op']>>[] {
  let at = 0;
  return commands.map((command): Result<ShardAnswer<WriteCommand['op']>> => {
    if (!('ends' in command)) return results[at++] as Result<WriteAnswer>;
    const own = results.slice(at, (at += command.ends.length));
    return { value: own as ShardAnswer<'putMany'> };
  });
}

function puts({ collection, dualWrites, keep, ...packed }: ShardRequest<'putMany'>): ShardRequest<'put'>[] {
  const rows = rowsOf(packed);
  return documentsOf(packed).map((document, i) => {
    const span = rows[i] as Span;
    const own = dualWrites?.map(
      (shadow): DualWrite => ({
        ...shadow,
        vectors:
          shadow.vectors instanceof Float32Array ? rowsIn(shadow.vectors, shadow.collection, span) : shadow.vectors,
      }),
    );
    return {
      op: 'put',
      collection,
      document,
      vectors: rowsIn(packed.vectors, collection, span),
      ...(own && { dualWrites: own }),
      ...(keep && { keep: keep[i] as AnswerToKeep }),
    };
  });
}

function shadowPuts({ collection, source, isForced, versions, ...packed }: ShardRequest<'putShadow'>): DocumentWrite[] {
  const rows = rowsOf(packed);
  return documentsOf(packed).map((document, i) => ({
    op: 'putShadow',
    collection,
    source,
    isForced,
    document,
    version: versions[i] as number,
    vectors: rowsIn(packed.vectors, collection, rows[i] as Span),
  }));
}

type Span = readonly [from: number, to: number];

/** Views of the packed documents and their rows; nothing is copied. */
const documentsOf = ({ documents, ends }: PackedDocuments): Uint8Array[] =>
  ends.map((end, i) => documents.subarray(ends[i - 1] ?? 0, end));
const rowsIn = (vectors: Float32Array, { dim }: CollectionRef, [from, to]: Span): Float32Array =>
  vectors.subarray(from * dim, to * dim);

function rowsOf({ chunks }: PackedDocuments): Span[] {
  let row = 0;
  return chunks.map((count) => [row, (row += count)]);
}

/**
 * Applies the writes of a batch in one commit. If a damaged record is met, nothing is applied, and each write is tried
 * in a commit of its own, so that damage in one collection does not stop the others. If the commit fails, nothing is
 * applied. Results are in the order of the writes.
 */
export function writeAll(shard: Shard, writes: readonly DocumentWrite[]): Result<WriteAnswer>[] {
  try {
    return applyWrites(shard, writes);
  } catch (error) {
    if (error instanceof DamagedRecord && writes.length > 1) return writes.flatMap((write) => writeAll(shard, [write]));
    const result = resultOf(error, writes[0]?.collection.id);
    return writes.map(() => result);
  }
}
