// The files of a shard's checkpoint: an image for each arena, and a manifest that names them. Bytes and names alone;
// what an image holds is the business of workers/shard/checkpoint, whose README has the layout. Read and written by the
// shard worker.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import typia from 'typia';
import type { CollectionRef } from '../contract/resources.js';
import { syncDirectory } from './sync.js';

export const CHECKPOINT_VERSION = 1;
const MAGIC = 'sheaf checkpoint';
const MANIFEST = 'manifest.json';

/** A checkpoint that is not what was written, or not for this server. */
export class DamagedCheckpoint extends Error {
  override readonly name = 'DamagedCheckpoint';
}

export interface ImageEntry {
  arena: number;
  /** Its name in the directory. */
  file: string;
  bytes: number;
  /** See ArenaPlan. */
  end: number;
  scratch: number;
}

export interface Manifest {
  magic: typeof MAGIC;
  version: number;
  /** Names this checkpoint; its images repeat it. */
  id: string;
  shard: number;
  /** Of the kernel whose memory it is. */
  kernel: string;
  /** The log of changes that goes on from it, and the last change that it has. */
  log: string;
  number: number;
  images: ImageEntry[];
  /** The collections that are in the images. */
  parts: (Omit<CollectionRef, 'id'> & { id: number })[];
}

const isManifest = typia.createIs<Manifest>();

export class CheckpointFiles {
  constructor(readonly directory: string) {}

  pathOf(file: string): string {
    return join(this.directory, file);
  }

  make(): void {
    mkdirSync(this.directory, { recursive: true });
    for (const path of [this.directory, join(this.directory, '..'), join(this.directory, '../..')]) syncDirectory(path);
  }

  /** undefined where there is none. Throws DamagedCheckpoint. */
  readManifest(): Manifest | undefined {
    const path = this.pathOf(MANIFEST);
    if (!existsSync(path)) return undefined;
    const [sum, text] = readFileSync(path, 'utf8').split('\n');
    if (text === undefined || sum !== sumOf(text)) throw new DamagedCheckpoint(`${MANIFEST}: wrong checksum`);
    const manifest: unknown = JSON.parse(text);
    if (!isManifest(manifest) || manifest.version !== CHECKPOINT_VERSION)
      throw new DamagedCheckpoint(`${MANIFEST}: another version`);
    return manifest;
  }

  /** From now on it is the checkpoint, whole, and what was before is not: requires that its images are synced. */
  async writeManifest(manifest: Omit<Manifest, 'magic' | 'version'>): Promise<void> {
    const text = JSON.stringify({ magic: MAGIC, version: CHECKPOINT_VERSION, ...manifest } satisfies Manifest);
    const file = await open(this.pathOf(`${MANIFEST}.tmp`), 'w', 0o644);
    try {
      await file.writeFile(`${sumOf(text)}\n${text}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    // The names of the images are synced before the manifest names them.
    syncDirectory(this.directory);
    await rename(this.pathOf(`${MANIFEST}.tmp`), this.pathOf(MANIFEST));
    syncDirectory(this.directory);
  }

  /** Removes all files but those of a checkpoint: all, where there is none. */
  clear(kept?: Pick<Manifest, 'images'>): void {
    if (!existsSync(this.directory)) return;
    const names = new Set(kept ? [MANIFEST, ...kept.images.map(({ file }) => file)] : []);
    // Images go last: a manifest without its images would only be told as damage.
    const gone = readdirSync(this.directory).filter((name) => !names.has(name));
    for (const name of gone.sort((a, b) => Number(b === MANIFEST) - Number(a === MANIFEST)))
      rmSync(this.pathOf(name), { force: true, recursive: true });
  }
}

const sumOf = (text: string): string => crc32(text).toString(16).padStart(8, '0');
