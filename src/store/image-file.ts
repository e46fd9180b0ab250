// An image of a checkpoint as a file: its header, and its regions, each compared with its checksum as it is read. Used
// by what fills memory with it (workers/shard/checkpoint), in the shard worker's thread, and by `sheaf check`.
import { closeSync, openSync, readSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { DamagedCheckpoint, type ImageEntry, type Manifest } from './checkpoint-files.js';
import { decodeHeader, HEADER_BYTES, REGION_BYTES, type ImageHeader } from './image-header.js';

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
