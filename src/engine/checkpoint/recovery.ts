// Fills the arenas of a shard from its checkpoint when it is opened. One that is damaged, of another server or of
// before the log of changes is told by name and removed: all is loaded from the store then, as where there is none.
// Called by open-shard.ts; shard worker only.
import { type CheckpointFiles, DamagedCheckpoint, type Manifest } from '../../../src/store/checkpoint-files.js';
import type { CollectionRef } from '../../../src/contract/resources.js';
import type { PartChange } from '../../../src/store/change-log.js';
import { DamagedRecord } from '../../../src/store/damage.js';
import type { CollectionKinds } from '../collection-kinds.js';
import type { Shard } from '../shard.js';
import type { Note } from './checkpoints.js';
import { readImage } from './image-reader.js';
import { revive } from './revival.js';
import type { Identity } from './writing.js';

interface Filled {
  manifest: Manifest;
  changes: PartChange[];
}

/** Requires that the arenas are formatted and closed. */
export function restore(
  shard: Shard,
  files: CheckpointFiles,
  identity: Identity,
  kinds: CollectionKinds,
  note: Note,
): void {
  const filled = fill(shard, files, identity, note);
  if (!filled) return discard(shard, files);
  const { manifest, changes } = filled;
  shard.store.changes.trim({ ...shard.store.changes.state, last: manifest.number, bytes: 0 });
  revive(shard, manifest.parts as CollectionRef[], kinds, changes);
  files.clear(manifest);
}

/** There is no checkpoint from now on. */
export function discard(shard: Shard, files: CheckpointFiles): void {
  files.clear();
  shard.store.changes.end();
}

/** undefined where there is no checkpoint, or none that is of use: the arenas are empty then. */
function fill(shard: Shard, files: CheckpointFiles, identity: Identity, note: Note): Filled | undefined {
  try {
    const manifest = files.readManifest();
    if (!manifest) return undefined;
    checkOrigin(manifest, identity, shard);
    const changes = shard.store.changes.after(manifest.number);
    for (const entry of manifest.images)
      readImage(shard.arenas.at(entry.arena).image(), files.pathOf(entry.file), manifest, entry);
    return { manifest, changes };
  } catch (error) {
    if (!isOfNoUse(error)) throw error;
    note(
      'warn',
      { shard: identity.shard, reason: (error as Error).message },
      'a checkpoint is of no use: all is loaded from the store',
    );
    shard.arenas.format();
    return undefined;
  }
}

function checkOrigin({ kernel, shard, log, number }: Manifest, identity: Identity, { store }: Shard): void {
  const { id, last } = store.changes.state;
  if (shard !== identity.shard) throw new DamagedCheckpoint(`manifest: of shard ${shard}`);
  if (kernel !== identity.kernel) throw new DamagedCheckpoint('manifest: of another version of the server');
  if (log !== id || number > last) throw new DamagedCheckpoint('manifest: the log of changes does not go on from it');
}

const isOfNoUse = (error: unknown): boolean =>
  error instanceof DamagedCheckpoint ||
  error instanceof DamagedRecord ||
  typeof (error as NodeJS.ErrnoException).syscall === 'string';
