// Several documents of a batch in one command: taken apart before the write, and their outcomes put together after it.
// Shard worker only; called by commands.ts, which writes whatever stands next to each other in one commit.
import type { CollectionRef, Outcome, ShardAnswer, ShardRequest } from '../../src/contract/messages.js';
import type { DocumentWrite } from './write.js';

/** A command that writes documents, as it comes. */
export type WriteCommand = DocumentWrite | ShardRequest<'putMany'>;
type WriteAnswer = ShardAnswer<'put' | 'putMany' | 'deleteDocument'>;

/** The collections that are written to, each once. */
export const refsOf = (commands: readonly WriteCommand[]): Iterable<CollectionRef> => new Map(commands.map(({ collection }) => [collection.id, collection])).values();

/** The single writes of the commands, in order. */
export const singleWrites = (commands: readonly WriteCommand[]): DocumentWrite[] => commands.flatMap((command) => (command.op === 'putMany' ? puts(command) : [command]));

/** The outcome of each command from those of its single writes: a `putMany` answers all of its own. */
export function outcomesOf(commands: readonly WriteCommand[], outcomes: readonly Outcome<ShardAnswer<DocumentWrite['op']>>[]): Outcome<WriteAnswer>[] {
  let at = 0;
  return commands.map((command): Outcome<WriteAnswer> => {
    if (command.op !== 'putMany') return outcomes[at++] as Outcome<WriteAnswer>;
    const own = outcomes.slice(at, (at += command.ends.length));
    return { value: own as ShardAnswer<'putMany'> };
  });
}

/** Views of the documents and their rows, not copies. */
function puts({ collection, documents, ends, chunks, vectors }: ShardRequest<'putMany'>): ShardRequest<'put'>[] {
  let row = 0;
  return ends.map((end, i) => {
    const from = row * collection.dim;
    row += chunks[i] as number;
    return { op: 'put', collection, document: documents.subarray(ends[i - 1] ?? 0, end), vectors: vectors.subarray(from, row * collection.dim) };
  });
}
