// The files of a shard's checkpoint: an image for each arena, with a header and regions that have a checksum each, and
// a manifest that names them. Bytes and names alone: what an image holds is the business of src/engine/checkpoint;
// docs/internals/checkpoints.md has the layout. The owner of the shard, and `sheaf check`.
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
  magic: typeof MANIFEST_MAGIC;
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
    const text = JSON.stringify({ magic: MANIFEST_MAGIC, version: CHECKPOINT_VERSION, ...manifest } satisfies Manifest);
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

// The header of an image, and how the image is cut into regions.

/** Bytes of memory under one checksum. */
export const REGION_BYTES = 2 ** 20;
/** Room for the checksums of 4 GiB. */
export const HEADER_BYTES = 32_768;
const IMAGE_MAGIC = 0x53484649;
const SUMS_AT = 64;
const REGIONS_MAX = 4096;

export interface ImageHeader {
  /** Of the checkpoint, 16 bytes in hexadecimal. */
  id: string;
  shard: number;
  arena: number;
  /** The last change that the image has. */
  number: number;
  bytes: number;
  /** Of each region. */
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

/** Throws DamagedCheckpoint where it is not a header of this version. */
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

/** An image as a file: its header, and its regions, each compared with its checksum as it is read. */
export class ImageFile {
  private constructor(
    private readonly handle: number,
    private readonly header: ImageHeader,
  ) {}

  /**
   * Throws DamagedCheckpoint where it is not the image that the manifest names, or what opening and reading it fails
   * with.
   */
  static open(path: string, manifest: Pick<Manifest, 'id' | 'shard' | 'number'>, entry: ImageEntry): ImageFile {
    const handle = openSync(path, 'r');
    try {
      const header = decodeHeader(readWhole(handle, Buffer.alloc(HEADER_BYTES), 0));
      if (!belongs(header, manifest, entry)) throw new DamagedCheckpoint(`${entry.file}: of another checkpoint`);
      return new ImageFile(handle, header);
    } catch (error) {
      closeSync(handle);
      throw error;
    }
  }

  get regions(): number {
    return this.header.sums.length;
  }

  /** How many bytes a region has: all have as many, but for the last. */
  bytesOf(region: number): number {
    return Math.min(REGION_BYTES, this.header.bytes - region * REGION_BYTES);
  }

  /** Fills `into`, which is as long as the region is. Throws DamagedCheckpoint, or what reading the file fails with. */
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
    if (count === 0) throw new DamagedCheckpoint('image: cut short');
    at += count;
  }
  return into;
}
