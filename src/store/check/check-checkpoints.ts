// Looks at the checkpoints of shards: manifest, headers, and every region of every image. A damaged one loses nothing,
// for it is a cache: the next start would tell, remove it and load all from the store. Reads only. Used by
// check-directory.ts and repair-directory.ts.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CheckpointFiles, DamagedCheckpoint, type ImageEntry, type Manifest } from '../checkpoint-files.js';
import type { DataDirectory } from '../data-dir.js';
import { ImageFile } from '../image-file.js';
import { REGION_BYTES } from '../image-header.js';
import { CHECKPOINTS, checkpointPath, shardName } from '../paths.js';
import type { Finding } from './findings.js';

const NOTHING_LOST = 'a cache, which repair removes and the next start makes again';

/** What belongs to no checkpoint is what one that was cut off has left, and no damage. */
export function* checkCheckpoints({ path, shards }: DataDirectory): Generator<Finding> {
  for (let shard = 0; shard < shards; shard++) {
    const environment = join(CHECKPOINTS, shardName(shard));
    for (const what of damageIn(new CheckpointFiles(checkpointPath(path, shard)), shard))
      yield { environment, what: `${what} (${NOTHING_LOST})` };
  }
}

function* damageIn(files: CheckpointFiles, shard: number): Generator<string> {
  const manifest = attempt(() => files.readManifest());
  if (typeof manifest === 'string') return yield manifest;
  if (!manifest) return;
  if (manifest.shard !== shard) return yield `manifest: of shard ${manifest.shard}`;
  for (const entry of manifest.images) {
    const what = existsSync(files.pathOf(entry.file))
      ? attempt(() => readAll(files.pathOf(entry.file), manifest, entry))
      : 'it is missing';
    if (what !== undefined) yield `${entry.file}: ${what.replace(/^image: /, '')}`;
  }
}

function readAll(path: string, manifest: Manifest, entry: ImageEntry): undefined {
  const file = ImageFile.open(path, manifest, entry);
  const region = Buffer.alloc(REGION_BYTES);
  try {
    for (let n = 0; n < file.regions; n++) file.read(n, region.subarray(0, file.bytesOf(n)));
  } finally {
    file.close();
  }
}

/** What `work` answers; the message of damage, or of a disk that cannot be read. */
function attempt<T>(work: () => T): T | string {
  try {
    return work();
  } catch (error) {
    if (error instanceof DamagedCheckpoint) return error.message;
    const { syscall, code } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    return `it cannot be read (${code})`;
  }
}
