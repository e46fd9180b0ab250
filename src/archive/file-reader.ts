// Reads an uploaded file at any place, as the zip library asks for it. A kernel may give less than it was asked for:
// the rest is asked for again. What the file cannot give though it is within its length is the disk's fault, and said
// to be: the archive is not judged by it. Made by archive-reader.ts, in whatever process reads the archive.
import { open, type FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { RandomAccessReader } from 'yauzl';
import { AppError } from '../contract/errors.js';

const PIECE_BYTES = 64 * 1024;

export class FileReader extends RandomAccessReader {
  private constructor(
    private readonly handle: FileHandle,
    /** Of the file when it was opened. */
    readonly size: number,
  ) {
    super();
  }

  /** Throws 503 `storage_failed`, as all reading does. */
  static async open(path: string): Promise<FileReader> {
    const handle = await open(path).catch(failed);
    try {
      const { size } = await handle.stat();
      return new FileReader(handle, size);
    } catch {
      await handle.close();
      throw failure();
    }
  }

  override read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null, bytesRead?: number) => void,
  ): void {
    this.fill(buffer.subarray(offset, offset + length), position).then(
      (bytesRead) => callback(null, bytesRead),
      callback,
    );
  }

  override _readStreamForRange(start: number, end: number): Readable {
    return Readable.from(this.pieces(start, end), { objectMode: false });
  }

  override close(callback: (error: Error | null) => void): void {
    this.handle.close().then(() => callback(null), callback);
  }

  private async *pieces(start: number, end: number): AsyncGenerator<Buffer> {
    for (let at = start; at < end; ) {
      const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, end - at));
      const bytes = await this.fill(piece, at);
      if (bytes === 0) return;
      yield piece.subarray(0, bytes);
      at += bytes;
    }
  }

  /** As many bytes as there are. */
  private async fill(target: Buffer, position: number): Promise<number> {
    let filled = 0;
    while (filled < target.length) {
      const { bytesRead } = await this.handle
        .read(target, filled, target.length - filled, position + filled)
        .catch(failed);
      if (bytesRead === 0 && position + filled < this.size) throw failure();
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return filled;
  }
}

const failure = (): AppError => new AppError('storage_failed', 'The disk does not give back what was uploaded.');

function failed(): never {
  throw failure();
}
