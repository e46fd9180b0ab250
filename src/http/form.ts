// Multipart form parser: text fields and at most one file, which goes to memory or to disk by its size. The parser
// applies back-pressure to the body. Runs on front threads and on the main thread.
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy';
import { v7 as uuidv7 } from 'uuid';
import { AppError } from '../api/errors.js';
import type { Form, Route } from './route.js';

// Size limits of form files by the kind of body of a route. Pure.

export interface FileLimit {
  readonly bytesMax: number;
  /** Larger files go to disk. */
  readonly memoryBytesMax: number;
  /** The error code for a file larger than `bytesMax`. */
  readonly code: 'file_too_large' | 'archive_too_large';
}

const MEMORY_BYTES_MAX = 1024 * 1024;

export const isArchive = (kind: Route['body']): kind is 'archive' | 'any_archive' =>
  kind === 'archive' || kind === 'any_archive';

/** The file limit of a kind of body. An archive always goes to disk, because another process reads it. */
export function fileLimitOf(
  kind: Route['body'],
  { documentBytesMax, archiveBytesMax }: { documentBytesMax: number; archiveBytesMax: number },
): FileLimit {
  if (isArchive(kind))
    return { bytesMax: kind === 'archive' ? archiveBytesMax : Infinity, memoryBytesMax: 0, code: 'archive_too_large' };
  return { bytesMax: documentBytesMax, memoryBytesMax: MEMORY_BYTES_MAX, code: 'file_too_large' };
}

// Concatenates an unknown number of chunks into one buffer, copying them as they come. Runs on front threads and on the
// main thread; at most a few megabytes are copied per step.

/** An announced length up to this size is allocated at once; more is allocated only as it arrives. */
const TRUSTED_BYTES = 1024 * 1024;
const FIRST_BYTES_MIN = 4096;
/** Above this size, without a credible length, bytes are gathered in blocks that are joined at the end. */
const GROWN_BYTES_MAX = 2 * TRUSTED_BYTES;
const BLOCK_BYTES = 1024 * 1024;

export class ByteGatherer {
  private readonly full: Buffer[] = [];
  private block: Buffer = Buffer.alloc(0);
  private blockBytes = 0;
  /** Bytes added so far. */
  lengthBytes = 0;

  /** `expectedBytes` is the announced length, or undefined if unknown. It only steers allocation. */
  constructor(private readonly expectedBytes: number | undefined) {}

  /** Copies a chunk. */
  add(chunk: Uint8Array): void {
    if (this.blockBytes + chunk.length > this.block.length) this.makeRoom(chunk.length);
    this.block.set(chunk, this.blockBytes);
    this.blockBytes += chunk.length;
    this.lengthBytes += chunk.length;
  }

  /**
   * All bytes in one buffer, which is the whole of its ArrayBuffer if the announced length was right. Yields to the
   * event loop after each block. Nothing may be added meanwhile or afterwards.
   */
  async whole(): Promise<Buffer> {
    if (this.full.length === 0) return this.filled();
    const whole = Buffer.allocUnsafeSlow(this.lengthBytes);
    let at = 0;
    for (const block of [...this.full, this.filled()]) {
      whole.set(block, at);
      at += block.length;
      await nextTurn();
    }
    return whole;
  }

  private filled(): Buffer {
    return this.block.subarray(0, this.blockBytes);
  }

  private makeRoom(bytes: number): void {
    const isSmall = this.full.length === 0 && this.blockBytes <= GROWN_BYTES_MAX;
    const larger = Buffer.allocUnsafeSlow(
      isSmall ? this.capacityFor(this.lengthBytes + bytes) : Math.max(bytes, BLOCK_BYTES),
    );
    if (isSmall) larger.set(this.filled());
    else {
      this.full.push(this.filled());
      this.blockBytes = 0;
    }
    this.block = larger;
  }

  private capacityFor(neededBytes: number): number {
    const expectedBytes = this.expectedBytes ?? 0;
    const isCredible = expectedBytes <= TRUSTED_BYTES || neededBytes > TRUSTED_BYTES;
    if (isCredible && expectedBytes >= neededBytes) return expectedBytes;
    return Math.max(neededBytes, 2 * this.block.length, FIRST_BYTES_MIN);
  }
}

// Destination of a form file: memory while the file is small, else a temporary file, so that an upload has a bounded
// memory cost. One per file. Runs on front threads and on the main thread; Node's thread pool writes to disk, and
// back-pressure slows the client.

/** Temporary storage for large files. */
interface FileSpool {
  /** A file larger than this goes to disk. */
  readonly memoryBytesMax: number;
  /** A new path; the file is deleted when the request is over. */
  newPath(): string;
  /** Called with the number of bytes that are on disk and no longer in memory. */
  stored(bytes: number): void;
}

const DISK_IS_FULL: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);
const DISK_FAILS: ReadonlySet<unknown> = new Set(['EIO', 'EROFS']);

class FileSink extends Writable {
  private gatherer: ByteGatherer;
  private handle: FileHandle | undefined;
  private path: string | undefined;
  /** The complete content of a file that stayed in memory. */
  private bytes: Buffer = Buffer.alloc(0);

  /** `expectedBytes` is as for `ByteGatherer`. Without a spool the file stays in memory. */
  constructor(
    expectedBytes: number | undefined,
    private readonly spool: FileSpool | undefined,
  ) {
    super();
    this.gatherer = new ByteGatherer(expectedBytes);
  }

  /** The file content. Valid once the sink has finished. */
  content(): { path: string } | { bytes: Buffer } {
    return this.path === undefined ? { bytes: this.bytes } : { path: this.path };
  }

  /** Cancels the write and resolves when no work on the file is left. */
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
    // The sink was destroyed meanwhile, and nothing else closes the handle.
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

/** Maps disk errors to client-visible errors (`storage_full`, `storage_failed`); other errors pass unchanged. */
export function errorOf(error: unknown): Error {
  const { code } = error as NodeJS.ErrnoException;
  if (DISK_IS_FULL.has(code)) return new AppError('storage_full');
  if (DISK_FAILS.has(code)) return new AppError('storage_failed');
  return error instanceof Error ? error : new Error(String(error));
}

interface FormLimits {
  readonly file: FileLimit;
  /** The announced length of the whole body; undefined if unknown. */
  readonly expectedBytes: number | undefined;
  /** Temporary storage for large files; undefined to keep them in memory. */
  readonly spool: FileSpool | undefined;
}

const PARTS_MAX = 64;
const FIELD_BYTES_MAX = 1024 * 1024;
const PIECE_BYTES = 16 * 1024;
const TURN_MS = 4;
const PART_HEADER_BYTES_MAX = 16 * 1024;

/**
 * Reads the form to its end. If fields share a name, the last one counts. A nameless, empty file is what browsers send
 * for an empty file input, and counts as no file.
 *
 * Throws 400 `invalid_multipart` for a malformed or truncated body, more than 64 parts, or two files; 413
 * `file_too_large` (or `archive_too_large`) for a large file, and `request_too_large` for a field over 1 MiB; 503
 * `storage_full`; and whatever `source` throws.
 */
export async function readForm(source: AsyncIterable<Buffer>, contentType: string, limits: FormLimits): Promise<Form> {
  const parser = openParser(contentType, limits.file.bytesMax);
  const parts = new FormParts(parser, limits);
  try {
    await pipeline(inTurns(source), parser);
    return await parts.form();
  } catch (error) {
    await parts.stop();
    throw parts.failure ?? (error instanceof AppError ? error : new AppError('invalid_multipart'));
  }
}

/** Feeds the parser in small pieces and yields to the event loop every few milliseconds. */
async function* inTurns(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let sinceMs = performance.now();
  for await (const chunk of source)
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
      yield chunk.subarray(at, at + PIECE_BYTES);
      if (performance.now() - sinceMs < TURN_MS) continue;
      await new Promise(setImmediate);
      sinceMs = performance.now();
    }
}

function openParser(contentType: string, fileBytesMax: number): BusboyInstance {
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      limits: {
        parts: PARTS_MAX,
        files: 1,
        fileSize: fileBytesMax,
        fieldSize: FIELD_BYTES_MAX,
        headerSize: PART_HEADER_BYTES_MAX,
      },
    });
  } catch {
    throw new AppError('invalid_multipart', 'The Content-Type is not multipart/form-data with a boundary.');
  }
}

/** Collects the parts that the parser finds, and stops it at the first violation. */
class FormParts {
  private readonly fields = new Map<string, string>();
  private file: { name: string; type: string; sink: FileSink } | undefined;
  /** Why the file could not be stored. */
  failure: Error | undefined;

  constructor(
    private readonly parser: BusboyInstance,
    private readonly limits: FormLimits,
  ) {
    parser.on('field', (name, value, _nameCut, valueCut) => this.addField(name, value, valueCut));
    parser.on('file', (_field, stream, name, _encoding, type) => this.addFile(stream, name, type));
    parser.on('partsLimit', () => this.refuse('invalid_multipart', `A form has at most ${PARTS_MAX} parts.`));
    parser.on('filesLimit', () => this.refuse('invalid_multipart', 'A form has at most one file.'));
  }

  async form(): Promise<Form> {
    const { fields, file } = this;
    if (file === undefined) return { fields };
    await finished(file.sink);
    const content = file.sink.content();
    const isNone = file.name === '' && 'bytes' in content && content.bytes.length === 0;
    return isNone ? { fields } : { fields, file: { name: file.name, type: file.type, ...content } };
  }

  /** Resolves when no write is in progress. */
  async stop(): Promise<void> {
    await this.file?.sink.stop();
  }

  private addField(name: string | undefined, value: string, isCut: boolean): void {
    if (name === undefined) return this.refuse('invalid_multipart', 'A part has no name.');
    if (isCut) return this.refuse('request_too_large', `A form field has at most ${FIELD_BYTES_MAX} bytes.`);
    this.fields.set(name, value);
  }

  private addFile(stream: BusboyFileStream, name: string | undefined, type: string): void {
    const { file, expectedBytes, spool } = this.limits;
    const sink = new FileSink(expectedBytes, spool);
    this.file = { name: name ?? '', type, sink };
    stream.pipe(sink).on('error', (error) => {
      this.failure = error;
      this.parser.destroy(error);
    });
    stream.on('limit', () => this.refuse(file.code, undefined, { limit_bytes: file.bytesMax }));
    // A truncated file is also an error of the parser, which reports it.
    stream.on('error', () => undefined);
  }

  private refuse(
    code: 'invalid_multipart' | 'request_too_large' | FileLimit['code'],
    message?: string,
    details?: Record<string, unknown>,
  ): void {
    this.parser.destroy(new AppError(code, message, details && { details }));
  }
}

// Temporary files: a folder that is emptied when the server starts, in case a crash left files behind, and the files of
// one request, which are deleted when it is over. Runs on front threads and on the main thread.

/** Creates the folder, empty and accessible to this user only. */
export function emptyTemporaryDirectory(path: string): void {
  rmSync(path, { recursive: true, force: true });
  mkdirSync(path, { recursive: true, mode: 0o700 });
}

export class TemporaryFiles {
  private readonly paths: string[] = [];

  constructor(private readonly directory: string) {}

  newPath(): string {
    const path = join(this.directory, uuidv7());
    this.paths.push(path);
    return path;
  }

  /** Deletes the files of the request. Never rejects: the next start of the server deletes what remains. */
  async remove(): Promise<void> {
    await Promise.all(this.paths.splice(0).map((path) => rm(path, { force: true }).catch(() => undefined)));
  }
}
