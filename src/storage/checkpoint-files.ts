// The files of a shard's checkpoint: an image for each arena, with a header and one checksum for each region, and a
// manifest that names the images. This file knows bytes and names only; src/engine/checkpoint defines what an image
// contains, and docs/internals/checkpoints.md describes the layout. Used by the owner of the shard, and by command-line
// processes on a data directory that no server uses.
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, readSync, readdirSync, rmSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import typia from 'typia';
import type { CollectionRef } from '../api/collections.js';
import { syncDirectory } from './disk.js';

const CHECKPOINT_VERSION = 1;
const MANIFEST_MAGIC = 'sheaf checkpoint';
const MANIFEST = 'manifest.json';

/** A checkpoint that is damaged, or not usable by this server. */
export class DamagedCheckpoint extends Error {
  override readonly name = 'DamagedCheckpoint';
}

export interface ImageEntry {
  arena: number;
  /** File name in the checkpoint directory. */
  file: string;
  bytes: number;
  /** `end` and `scratch` are described at ArenaPlan. */
  end: number;
  scratch: number;
}

export interface Manifest {
  magic: typeof MANIFEST_MAGIC;
  version: number;
  /** Id of the checkpoint, which its images repeat. */
  id: string;
  shard: number;
  /** Format of the images (engine/checkpoint/format.ts). */
  kernel: string;
  /**
   * `log`: id of the log of changes that continues from the checkpoint; `number`: the last change that the checkpoint
   * contains.
   */
  log: string;
  number: number;
  images: ImageEntry[];
  /** The collections that have segments in the images. */
  parts: (Omit<CollectionRef, 'id'> & { id: number })[];
}

const isManifest = typia.createIs<Manifest>();

/** The checkpoint directory of one shard. */
export class CheckpointFiles {
  constructor(readonly directory: string) {}

  pathOf(file: string): string {
    return join(this.directory, file);
  }

  make(): void {
    mkdirSync(this.directory, { recursive: true });
    for (const path of [this.directory, join(this.directory, '..'), join(this.directory, '../..')]) syncDirectory(path);
  }

  /** Reads the manifest; undefined if there is none. Throws DamagedCheckpoint. */
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

  /**
   * Replaces the manifest atomically, which makes the new checkpoint valid and the previous one obsolete. Requires that
   * the images are synced.
   */
  async writeManifest(manifest: Omit<Manifest, 'magic' | 'version'>): Promise<void> {
    const text = JSON.stringify({ magic: MANIFEST_MAGIC, version: CHECKPOINT_VERSION, ...manifest } satisfies Manifest);
    const file = await open(this.pathOf(`${MANIFEST}.tmp`), 'w', 0o644);
    try {
      await file.writeFile(`${sumOf(text)}\n${text}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    // The names of the images must be durable before the manifest refers to them.
    syncDirectory(this.directory);
    await rename(this.pathOf(`${MANIFEST}.tmp`), this.pathOf(MANIFEST));
    syncDirectory(this.directory);
  }

  /** Deletes all files except those of the given checkpoint. */
  clear(kept?: Pick<Manifest, 'images'>): void {
    if (!existsSync(this.directory)) return;
    const names = new Set(kept ? [MANIFEST, ...kept.images.map(({ file }) => file)] : []);
    // The manifest is deleted first, because a manifest without its images would be reported as damage.
    const gone = readdirSync(this.directory).filter((name) => !names.has(name));
    for (const name of gone.sort((a, b) => Number(b === MANIFEST) - Number(a === MANIFEST)))
      rmSync(this.pathOf(name), { force: true, recursive: true });
  }
}

const sumOf = (text: string): string => crc32(text).toString(16).padStart(8, '0');

// The header of an image, and its division into regions.

/** Bytes of memory that one checksum covers. */
export const REGION_BYTES = 2 ** 20;
/** Size of the header: enough for the checksums of 4 GiB. */
export const HEADER_BYTES = 32_768;
const IMAGE_MAGIC = 0x53484649;
const SUMS_AT = 64;
const REGIONS_MAX = 4096;

export interface ImageHeader {
  /** Id of the checkpoint: 16 bytes in hexadecimal. */
  id: string;
  shard: number;
  arena: number;
  /** The last change that the image contains. */
  number: number;
  bytes: number;
  /** CRC-32 of each region. */
  sums: readonly number[];
}

export function encodeHeader({ id, shard, arena, number, bytes, sums }: ImageHeader): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  [IMAGE_MAGIC, CHECKPOINT_VERSION, shard, arena, sums.length].forEach((word, i) =>
    header.writeUInt32LE(word, 4 + 4 * i),
  );
  header.writeBigUInt64LE(BigInt(number), 24);
  header.write(id, 32, 'hex');
  header.writeBigUInt64LE(BigInt(bytes), 48);
  sums.forEach((sum, i) => header.writeUInt32LE(sum, SUMS_AT + 4 * i));
  header.writeUInt32LE(crc32(header.subarray(4)), 0);
  return header;
}

/** Decodes a header. Throws DamagedCheckpoint if it is damaged or of another version. */
function decodeHeader(header: Buffer): ImageHeader {
  if (header.length !== HEADER_BYTES || header.readUInt32LE(0) !== crc32(header.subarray(4)))
    throw new DamagedCheckpoint('image: wrong checksum of the header');
  const [magic, version, shard, arena, regions] = [4, 8, 12, 16, 20].map((at) => header.readUInt32LE(at)) as [
    number,
    number,
    number,
    number,
    number,
  ];
  const bytes = Number(header.readBigUInt64LE(48));
  if (
    magic !== IMAGE_MAGIC ||
    version !== CHECKPOINT_VERSION ||
    regions > REGIONS_MAX ||
    regions !== Math.ceil(bytes / REGION_BYTES)
  )
    throw new DamagedCheckpoint('image: another version');
  const sums = Array.from({ length: regions }, (_, i) => header.readUInt32LE(SUMS_AT + 4 * i));
  return { id: header.toString('hex', 32, 48), shard, arena, number: Number(header.readBigUInt64LE(24)), bytes, sums };
}

/** An image file. Each region is compared with its checksum when it is read. */
export class ImageFile {
  private constructor(
    private readonly handle: number,
    private readonly header: ImageHeader,
  ) {}

  /**
   * Opens an image and checks its header. Throws DamagedCheckpoint if it is not the image that the manifest names, or a
   * file system error.
   */
  static open(path: string, manifest: Pick<Manifest, 'id' | 'shard' | 'number'>, entry: ImageEntry): ImageFile {
    const handle = openSync(path, 'r');
    try {
      const header = decodeHeader(readWhole(handle, Buffer.alloc(HEADER_BYTES), 0));
      if (!belongs(header, manifest, entry))
        throw new DamagedCheckpoint(`${entry.file}: belongs to another checkpoint`);
      return new ImageFile(handle, header);
    } catch (error) {
      closeSync(handle);
      throw error;
    }
  }

  get regions(): number {
    return this.header.sums.length;
  }

  /** Size of a region. All regions have the same size except the last. */
  bytesOf(region: number): number {
    return Math.min(REGION_BYTES, this.header.bytes - region * REGION_BYTES);
  }

  /** Reads a region into `into`, which must have the region's size. Throws DamagedCheckpoint or a file system error. */
  read(region: number, into: Buffer): void {
    readWhole(this.handle, into, HEADER_BYTES + region * REGION_BYTES);
    if (crc32(into) !== this.header.sums[region])
      throw new DamagedCheckpoint(`image: wrong checksum of region ${region}`);
  }

  close(): void {
    closeSync(this.handle);
  }
}

const belongs = (
  header: ImageHeader,
  { id, shard, number }: Pick<Manifest, 'id' | 'shard' | 'number'>,
  { arena, bytes }: ImageEntry,
): boolean =>
  header.id === id &&
  header.shard === shard &&
  header.number === number &&
  header.arena === arena &&
  header.bytes === bytes;

function readWhole(handle: number, into: Buffer, from: number): Buffer {
  for (let at = 0; at < into.length; ) {
    const count = readSync(handle, into, at, into.length - at, from + at);
    if (count === 0) throw new DamagedCheckpoint('image: truncated');
    at += count;
  }
  return into;
}
