// Reads an untrusted zip file. Opening it reads only its directory and rejects what could do harm: paths outside the
// archive, links, duplicate names, overlapping entries, and entries that unpack to far more than their size. No entry
// is unpacked beyond the size that its directory record states. Throws `ArchiveError`. Archive process and command
// line.
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Entry, RandomAccessReader, type ZipFile, fromRandomAccessReaderPromise } from 'yauzl';
import { AppError } from '../api/errors.js';
import { ArchiveError, type EntryRecord } from './format.js';

const PIECE_BYTES = 64 * 1024;

/**
 * Random access to an uploaded file for the zip library. Short reads by the operating system are continued. A failure
 * to read within the length of the file is reported as an error of the disk, not of the archive.
 */
export class FileReader extends RandomAccessReader {
  private constructor(
    private readonly handle: FileHandle,
    /** The size of the file when it was opened. */
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

  /** Reads as many bytes as there are. */
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

const failure = (): AppError => new AppError('storage_failed', 'The uploaded file cannot be read back from the disk.');

function failed(): never {
  throw failure();
}

/** The maximum compression ratio of an entry. Deflate reaches at most 1032, and texts hardly ever reach 50. */
const RATIO_MAX = 200;
/** The ratio of smaller entries is not checked. */
const SMALL_BYTES = 1024 * 1024;
const ENTRIES_MAX = 4_000_000;
const FILE_TYPE = 0o170000;
const LINK = 0o120000;
const LOCAL_HEADER_BYTES = 30;

/** An open zip whose directory has been checked. It must be closed. */
export class ArchiveReader {
  private constructor(
    private readonly zip: ZipFile,
    private readonly entries: ReadonlyMap<string, Entry>,
  ) {}

  /** `unpackedBytesMax` limits the unpacked size of all entries together. */
  static async open(path: string, unpackedBytesMax: number): Promise<ArchiveReader> {
    const file = await FileReader.open(path);
    const zip = await fromRandomAccessReaderPromise(file, file.size, {
      autoClose: false,
      strictFileNames: true,
      validateEntrySizes: true,
      decodeStrings: true,
    }).catch((error: Error) => {
      file.close(() => undefined);
      throw problemOf(error);
    });
    try {
      return new ArchiveReader(zip, await readDirectory(zip, file.size, unpackedBytesMax));
    } catch (error) {
      zip.close();
      throw error;
    }
  }

  names(): string[] {
    return [...this.entries.keys()];
  }

  /** Reads an entry that is not listed in a manifest. */
  async whole(name: string, bytesMax: number): Promise<Buffer> {
    return this.unpack(this.entry(name), bytesMax);
  }

  /** Reads an entry and checks its size and digest against the manifest. */
  async checked({ name, bytes, sha256 }: EntryRecord, bytesMax: number): Promise<Buffer> {
    const entry = this.entry(name);
    if (entry.uncompressedSize !== bytes)
      throw new ArchiveError(
        'size_mismatch',
        `${name} has ${entry.uncompressedSize} bytes, but the manifest says ${bytes}.`,
      );
    const content = await this.unpack(entry, bytesMax);
    if (createHash('sha256').update(content).digest('hex') !== sha256)
      throw new ArchiveError('digest_mismatch', `${name} does not have the digest that the manifest states.`);
    return content;
  }

  /** Unpacks an entry to a file, for entries that are too large to be read whole. */
  async extract(name: string, path: string): Promise<void> {
    const source = await this.zip.openReadStreamPromise(this.entry(name));
    await pipeline(source, createWriteStream(path, { mode: 0o600 })).catch((error: Error) => {
      throw isOfTheDisk(error)
        ? error
        : new ArchiveError('digest_mismatch', `${name} cannot be unpacked: ${error.message}.`);
    });
  }

  close(): void {
    this.zip.close();
  }

  private entry(name: string): Entry {
    const entry = this.entries.get(name);
    if (!entry) throw new ArchiveError('missing_entry', `${name} is not in the archive.`);
    return entry;
  }

  private async unpack(entry: Entry, bytesMax: number): Promise<Buffer> {
    if (entry.uncompressedSize > bytesMax)
      throw new ArchiveError(
        'too_large',
        `${entry.fileName} unpacks to ${entry.uncompressedSize} bytes; at most ${bytesMax} are read.`,
      );
    const content = Buffer.allocUnsafeSlow(entry.uncompressedSize);
    let filled = 0;
    try {
      for await (const piece of await this.zip.openReadStreamPromise(entry)) {
        const bytes = piece as Buffer;
        if (filled + bytes.length > content.length)
          throw new ArchiveError('size_mismatch', `${entry.fileName} unpacks to more bytes than it states.`);
        filled += bytes.copy(content, filled);
      }
    } catch (error) {
      throw error instanceof ArchiveError || isOfTheDisk(error)
        ? error
        : new ArchiveError('digest_mismatch', `${entry.fileName} cannot be unpacked: ${(error as Error).message}.`);
    }
    if (filled !== content.length)
      throw new ArchiveError('size_mismatch', `${entry.fileName} unpacks to fewer bytes than it states.`);
    return content;
  }
}

async function readDirectory(zip: ZipFile, fileBytes: number, unpackedBytesMax: number): Promise<Map<string, Entry>> {
  if (zip.entryCount > ENTRIES_MAX)
    throw new ArchiveError('too_large', `The archive has ${zip.entryCount} entries; at most ${ENTRIES_MAX} are read.`);
  const entries = new Map<string, Entry>();
  let [packed, unpacked] = [0, 0];
  try {
    for await (const entry of zip.eachEntry()) {
      checkEntry(entry);
      const key = entry.fileName.toLowerCase();
      if (entries.has(key)) throw new ArchiveError('duplicate_entry', `${entry.fileName} is in the archive twice.`);
      entries.set(key, entry);
      packed += entry.compressedSize + LOCAL_HEADER_BYTES;
      unpacked += entry.uncompressedSize;
    }
  } catch (error) {
    throw error instanceof ArchiveError ? error : problemOf(error as Error);
  }
  if (packed > fileBytes) throw new ArchiveError('overlapping_entries', 'Entries of the archive overlap.');
  if (unpacked > unpackedBytesMax)
    throw new ArchiveError(
      'too_large',
      `The archive unpacks to ${unpacked} bytes; at most ${unpackedBytesMax} are read.`,
    );
  return entries;
}

function checkEntry(entry: Entry): void {
  const { fileName, compressedSize, uncompressedSize, externalFileAttributes } = entry;
  if (((externalFileAttributes >>> 16) & FILE_TYPE) === LINK)
    throw new ArchiveError('symlink', `${fileName} is a link.`);
  if (entry.isEncrypted()) throw new ArchiveError('encrypted_entry', `${fileName} is encrypted.`);
  if (fileName.split('/').includes('..') || fileName.startsWith('/'))
    throw new ArchiveError('unsafe_path', `${fileName} is a path outside the archive.`);
  if (uncompressedSize > SMALL_BYTES && uncompressedSize > compressedSize * RATIO_MAX)
    throw new ArchiveError(
      'compression_ratio',
      `${fileName} unpacks to ${uncompressedSize} bytes from ${compressedSize}.`,
    );
}

/** True for an error of the disk, which says nothing about the archive. */
const isOfTheDisk = (error: unknown): boolean =>
  error instanceof AppError || typeof (error as NodeJS.ErrnoException).syscall === 'string';

/** The zip library itself rejects paths outside the archive. */
function problemOf(error: Error): Error {
  const { message } = error;
  if (isOfTheDisk(error)) return error;
  if (/absolute path|relative path|invalid characters/.test(message))
    return new ArchiveError('unsafe_path', `An entry has a path outside the archive: ${message}.`);
  return new ArchiveError('not_a_zip', `The archive is not a complete zip file: ${message}.`);
}
