// Replays the journal of a shard on another one: a copy of the shard from before, or an empty one. Both must keep a
// journal. The same commands give the same documents, versions, counts and hashes, in whatever batches they are applied;
// the ordinals of chunks and the graph may differ. Owner only.
import type { Shard } from '../shard.js';
import { unpackCommand } from './journaled.js';
import type { DocumentWrite } from './commands.js';
import { applyWrites, assertStored } from './write.js';

/** The journal of a shard does not fit the shard that it is replayed on. */
export class ReplayDiverged extends Error {
  override readonly name = 'ReplayDiverged';
}

/**
 * Applies commands of a journal in one commit, but for drops of collections, which have a commit each. Throws AppError
 * if one is refused, for instance because the memory is full: what came before a drop stays applied then. Throws
 * ReplayDiverged if one has another result than it had.
 */
export function replayCommands(shard: Shard, packed: readonly Buffer[]): void {
  let writes: DocumentWrite[] = [];
  const apply = (): void => {
    if (writes.length > 0) assertStored(applyWrites(shard, writes));
    writes = [];
  };
  for (const bytes of packed) {
    const command = unpackCommand(bytes);
    if (command.op !== 'dropCollection') {
      writes.push(command);
      continue;
    }
    apply();
    shard.drop(command.collection);
  }
  apply();
}

/** Throws ReplayDiverged unless the shard has come to this point of a journal. */
export function assertAt(shard: Shard, { sequence, hash }: { sequence: number; hash: string }): void {
  const head = shard.store.journal?.head;
  if (head?.sequence !== sequence || head.hash !== hash)
    throw new ReplayDiverged(
      `command ${sequence} of the journal has another result here, or one of those before it (the shard is at ${head?.sequence ?? 'no journal'})`,
    );
}
