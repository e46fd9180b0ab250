// Reads a multipart/form-data body: fields as text and at most one file, which goes where there is room for it. Called
// by body.ts on the front thread. The parser takes bytes as they come, and holds the source back.
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

// How large the file of a form may be, and how much of it is kept in memory, by the kind of body that a route takes.
// Pure; used by body.ts.

export interface FileLimit {
  readonly bytesMax: number;
  /** A larger one goes to the disk. */
  readonly memoryBytesMax: number;
  /** What one over `bytesMax` is refused with. */
  readonly code: 'file_too_large' | 'archive_too_large';
}

const MEMORY_BYTES_MAX = 1024 * 1024;

export const isArchive = (kind: Route['body']): kind is 'archive' | 'any_archive' =>
  kind === 'archive' || kind === 'any_archive';

/** An archive is never kept in memory: another process reads it. */
export function fileLimitOf(
  kind: Route['body'],
  { documentBytesMax, archiveBytesMax }: { documentBytesMax: number; archiveBytesMax: number },
): FileLimit {
  if (isArchive(kind))
    return { bytesMax: kind === 'archive' ? archiveBytesMax : Infinity, memoryBytesMax: 0, code: 'archive_too_large' };
  return { bytesMax: documentBytesMax, memoryBytesMax: MEMORY_BYTES_MAX, code: 'file_too_large' };
}

// Puts chunks of bytes of unknown number together, for bodies and files. Front thread; the bytes are copied as they
// come, a few megabytes in one step at most.

/** An announced length is trusted for so much of it; more is set aside only once as much has really come. */
const TRUSTED_BYTES = 1024 * 1024;
const FIRST_BYTES_MIN = 4096;
/** What outgrows this, with no length announced, gathers in blocks that stay where they are until the end. */
const GROWN_BYTES_MAX = 2 * TRUSTED_BYTES;
const BLOCK_BYTES = 1024 * 1024;

export class ByteGatherer {
  private readonly full: Buffer[] = [];
  private block: Buffer = Buffer.alloc(0);
  private blockBytes = 0;
  /** All bytes so far. */
  lengthBytes = 0;

  /** `expectedBytes`: the announced length, undefined when unknown. It only steers the allocation. */
  constructor(private readonly expectedBytes: number | undefined) {}

  /** Copies the chunk. */
  add(chunk: Uint8Array): void {
    if (this.blockBytes + chunk.length > this.block.length) this.makeRoom(chunk.length);
    this.block.set(chunk, this.blockBytes);
    this.blockBytes += chunk.length;
    this.lengthBytes += chunk.length;
  }

  /**
   * All bytes so far, in one buffer, and the whole of its ArrayBuffer where the announced length was right. Blocks are
   * put together with a turn for others after each. Nothing is added meanwhile or afterwards.
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

// Where the file of a form goes: into memory while it is small enough for that, else into a temporary file, so that an
// upload takes no more memory than that. Made by form.ts for each file, on the front thread; the disk is written by
// Node's thread pool, and the client is held back meanwhile.

/** Where larger files may go. */
interface FileSpool {
  /** A file goes there when it has more than this. */
  readonly memoryBytesMax: number;
  /** A path for one new file, which is removed when the request is over. */
  newPath(): string;
  /** Told of bytes that are on disk now, and in memory no more. */
  stored(bytes: number): void;
}

const DISK_IS_FULL: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);
const DISK_FAILS: ReadonlySet<unknown> = new Set(['EIO', 'EROFS']);

class FileSink extends Writable {
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

interface FormLimits {
  readonly file: FileLimit;
  /** Announced length of the whole body, undefined when unknown. */
  readonly expectedBytes: number | undefined;
  /** Where large files go; undefined to keep them in memory. */
  readonly spool: FileSpool | undefined;
}

const PARTS_MAX = 64;
const FIELD_BYTES_MAX = 1024 * 1024;
const PIECE_BYTES = 16 * 1024;
const TURN_MS = 4;
const PART_HEADER_BYTES_MAX = 16 * 1024;

/**
 * Reads the form to its end. Of fields with one name the last counts; a nameless, empty file is what browsers send for
 * an empty file input, and counts as no file. Throws 400 `invalid_multipart` when the body is malformed or cut off, has
 * more than 64 parts or two files, 413 `file_too_large` (`archive_too_large`) or `request_too_large` (a field over 1
 * MiB), 503 `storage_full`, and what `source` throws.
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

/** What the parser makes of one piece takes a while at worst; others have their turn between two. */
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

/** Collects what the parser finds, and stops it at the first thing that is not allowed. */
class FormParts {
  private readonly fields = new Map<string, string>();
  private file: { name: string; type: string; sink: FileSink } | undefined;
  /** Why the file could not be kept. */
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

  /** Resolves when nothing is written any more. */
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
    // A file that is cut off is an error of the parser too, which is where it is answered.
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

// The temporary files of a server: a folder that is emptied when the server starts, for whatever a crash left behind,
// and the files of one request, removed when it is over. Used by server.ts and body.ts, on the front thread.

/** Makes the folder, empty and for this user alone. */
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

  /** Never rejects: what cannot be removed now is when the server starts again. */
  async remove(): Promise<void> {
    await Promise.all(this.paths.splice(0).map((path) => rm(path, { force: true }).catch(() => undefined)));
  }
}
