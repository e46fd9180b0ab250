// Where the file of a form goes: into memory while it is small enough for that, else into a temporary file, so that an
// upload takes no more memory than that. Made by form.ts for each file, on the front thread; the disk is written by
// Node's thread pool, and the client is held back meanwhile.
import { open, type FileHandle } from 'node:fs/promises';
import { once } from 'node:events';
import { Writable } from 'node:stream';
import { AppError } from '../contract/errors.js';
import { ByteGatherer } from './byte-gatherer.js';

/** Where larger files may go. */
export interface FileSpool {
  /** A file goes there when it has more than this. */
  readonly memoryBytesMax: number;
  /** A path for one new file, which is removed when the request is over. */
  newPath(): string;
  /** Told of bytes that are on disk now, and in memory no more. */
  stored(bytes: number): void;
}

const DISK_IS_FULL: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);
const DISK_FAILS: ReadonlySet<unknown> = new Set(['EIO', 'EROFS']);

export class FileSink extends Writable {
  private gatherer: ByteGatherer;
  private handle: FileHandle | undefined;
  private path: string | undefined;
  /** Of a file that stays in memory, once it is whole. */
  private bytes: Buffer = Buffer.alloc(0);

  /** `expectedBytes`: as for ByteGatherer. Without a spool everything stays in memory. */
  constructor(
    expectedBytes: number | undefined,
    private readonly spool: FileSpool | undefined,
  ) {
    super();
    this.gatherer = new ByteGatherer(expectedBytes);
  }

  /** The file, once the sink has finished. */
  content(): { path: string } | { bytes: Buffer } {
    return this.path === undefined ? { bytes: this.bytes } : { path: this.path };
  }

  /** Stops, and resolves when nothing of the file is under way any more. */
  async stop(): Promise<void> {
    if (this.closed) return;
    this.destroy();
    await once(this, 'close');
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.take(chunk).then(
      () => done(),
      (error: unknown) => done(errorOf(error)),
    );
  }

  override _final(done: (error?: Error | null) => void): void {
    void this.gatherer.whole().then((bytes) => {
      this.bytes = bytes;
      done();
    });
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    const closed = this.handle?.close() ?? Promise.resolve();
    closed.then(
      () => done(error),
      (failure: unknown) => done(error ?? errorOf(failure)),
    );
  }

  private async take(chunk: Buffer): Promise<void> {
    if (this.handle === undefined) {
      this.gatherer.add(chunk);
      if (this.spool !== undefined && this.gatherer.lengthBytes > this.spool.memoryBytesMax)
        await this.spill(this.spool);
    } else {
      await this.store(this.handle, chunk);
    }
  }

  private async spill(spool: FileSpool): Promise<void> {
    this.path = spool.newPath();
    const handle = await open(this.path, 'wx', 0o600);
    // Given up meanwhile: nobody else would close it.
    if (this.destroyed) return handle.close();
    this.handle = handle;
    await this.store(this.handle, await this.gatherer.whole());
    this.gatherer = new ByteGatherer(0);
  }

  private async store(handle: FileHandle, bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length; ) at += (await handle.write(bytes, at)).bytesWritten;
    this.spool?.stored(bytes.length);
  }
}

/** What the disk does not take is the server's state, not a fault of ours. */
export function errorOf(error: unknown): Error {
  const { code } = error as NodeJS.ErrnoException;
  if (DISK_IS_FULL.has(code)) return new AppError('storage_full');
  if (DISK_FAILS.has(code)) return new AppError('storage_failed');
  return error instanceof Error ? error : new Error(String(error));
}
