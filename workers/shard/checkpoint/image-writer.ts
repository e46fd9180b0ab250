// Writes the image of an arena to a file while its owner goes on: a pass copies the memory region by region and writes
// those that are not what the file has. Of which passes the whole is the memory at one moment, writing.ts knows. Shard
// worker only.
import { open, type FileHandle } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { encodeHeader, HEADER_BYTES, REGION_BYTES, type ImageHeader } from '../../../src/store/image-header.js';
import type { ArenaImage } from './arena-image.js';

/** So much at a time goes to the disk: a single sync at the end would hold up the commits of the store. */
const SYNC_BYTES = 32 * 2 ** 20;

export class ImageWriter {
  /** Of the regions as the file has them. */
  private sums: number[] = [];
  private bytes = 0;
  private unsyncedBytes = 0;
  /** What is written is a copy: the memory changes meanwhile. */
  private readonly buffer = Buffer.alloc(REGION_BYTES);

  private constructor(
    readonly image: ArenaImage,
    private readonly file: FileHandle,
  ) {}

  static async create(image: ArenaImage, path: string): Promise<ImageWriter> {
    return new ImageWriter(image, await open(path, 'w', 0o644));
  }

  /**
   * Brings the file to what the memory is now, with a `pause` behind each region; one that others wait for syncs
   * nothing on the way.
   */
  async pass(pause: () => Promise<unknown>, isAwaited: boolean): Promise<void> {
    const bytes = this.image.bytes;
    for (let at = 0; at < bytes; at += REGION_BYTES) {
      await this.writeRegion(at, Math.min(REGION_BYTES, bytes - at));
      if (!isAwaited && this.unsyncedBytes >= SYNC_BYTES) await this.sync();
      await pause();
    }
    this.sums.length = Math.ceil(bytes / REGION_BYTES);
    this.bytes = bytes;
  }

  /** Completes the file; its name is the caller's to sync. Answers the bytes of the image. */
  async finish(header: Omit<ImageHeader, 'bytes' | 'sums'>): Promise<number> {
    const { bytes, sums, file } = this;
    await this.write(encodeHeader({ ...header, bytes, sums }), 0);
    await file.truncate(HEADER_BYTES + bytes);
    await file.sync();
    return bytes;
  }

  async close(): Promise<void> {
    await this.file.close();
  }

  private async writeRegion(at: number, count: number): Promise<void> {
    const region = this.buffer.subarray(0, count);
    this.image.copy(at, region);
    const sum = crc32(region);
    if (this.sums[at / REGION_BYTES] === sum && at + count <= this.bytes) return;
    await this.write(region, HEADER_BYTES + at);
    this.sums[at / REGION_BYTES] = sum;
    this.unsyncedBytes += count;
  }

  private async sync(): Promise<void> {
    this.unsyncedBytes = 0;
    await this.file.datasync();
  }

  private async write(bytes: Buffer, at: number): Promise<void> {
    for (let done = 0; done < bytes.length; )
      done += (await this.file.write(bytes, done, bytes.length - done, at + done)).bytesWritten;
  }
}
