// Writes an archive as a zip, entry by entry, at the speed of its reader, with the records of a collection in segments.
// Only the current entry is in memory. The manifest, which is written last, lists the size and digest of each entry.
// Used by the archive process, the command line, and the main thread for a backup that is put together again.
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { crc32 } from 'node:zlib';
import { ZipFile } from 'yazl';
import type { ArchiveCounts } from '../api/archives.js';
import { type EntryRecord, documentsEntry, queriesEntry } from './format.js';
import {
  type ArchivedDocument,
  type ArchivedQuery,
  SEGMENT_BYTES,
  SEGMENT_BYTES_MIN,
  SEGMENT_BYTES_MORE,
  packDocument,
  packQuery,
} from './records.js';

/** Entries are not compressed: vectors are most of an archive, and compression does not make them smaller. */
const STORED = { compress: false, mode: 0o100644 } as const;

/** What takes the entries of an archive one after the other. */
export interface EntryWriter {
  /** To be read while entries are added. */
  readonly output: Readable;
  /** Adds an entry. Resolves when the next one can be added. */
  add(name: string, bytes: Buffer): Promise<EntryRecord>;
  end(): void;
}

export const addJson = (writer: EntryWriter, name: string, value: unknown): Promise<EntryRecord> =>
  writer.add(name, Buffer.from(`${JSON.stringify(value, null, 1)}\n`));

export const recordOf = (name: string, bytes: Buffer): EntryRecord => ({
  name,
  bytes: bytes.length,
  sha256: createHash('sha256').update(bytes).digest('hex'),
});

/** Writes an archive as a zip. */
export class ArchiveWriter implements EntryWriter {
  private readonly zip = new ZipFile();

  /** `mtime` is the modification time of every entry. */
  constructor(private readonly mtime: Date) {}

  get output(): Readable {
    return this.zip.outputStream as Readable;
  }

  /** Adds an entry. Resolves when the reader of the output has taken it. */
  async add(name: string, bytes: Buffer): Promise<EntryRecord> {
    const source = givenAway(bytes);
    // The library's addBuffer would keep every buffer until the end.
    this.zip.addReadStreamLazy(name, { ...STORED, mtime: this.mtime, size: bytes.length }, (give) =>
      give(null, source),
    );
    const record = recordOf(name, bytes);
    await finished(source, { writable: false });
    return record;
  }

  end(): void {
    this.zip.end();
  }
}

/** Writes an archive to a file. `work` adds its entries and ends it; an error of it also ends the writing. */
export async function writeArchiveAt<T>(path: string, work: (writer: ArchiveWriter) => Promise<T>): Promise<T> {
  const writer = new ArchiveWriter(new Date());
  const written = pipeline(writer.output, createWriteStream(path, { mode: 0o600 }));
  const [result] = await Promise.all([
    work(writer).catch((error: unknown) => {
      writer.output.destroy(error as Error);
      throw error;
    }),
    written,
  ]);
  return result;
}

/**
 * A stream of these bytes that drops its reference to them once they are read. The zip library keeps the streams of all
 * entries, and one from Readable.from would keep its bytes.
 */
function givenAway(bytes: Buffer): Readable {
  let left: Buffer | undefined = bytes;
  return new Readable({
    read() {
      this.push(left);
      this.push(null);
      left = undefined;
    },
  });
}

/**
 * Collects records into segments and adds each segment as an entry. Where a segment ends is told by the ids of the records
 * and not by their places, so a record that is added or deleted changes its own segment alone, and incremental backups
 * have the others already (content-defined chunking: Muthitacharoen et al., A Low-bandwidth Network File System, 2001).
 */
class SegmentWriter {
  readonly entries: EntryRecord[] = [];
  private records: Buffer[] = [];
  private bytes = 0;

  constructor(
    private readonly writer: EntryWriter,
    /** The name of the segment at a place. */
    private readonly nameOf: (place: number) => string,
  ) {}

  /** Adds a record. Resolves when the next one can be added. */
  async add(id: string | Buffer, record: Buffer): Promise<void> {
    if (this.bytes > 0 && this.bytes + record.length > SEGMENT_BYTES) await this.end();
    this.records.push(record);
    this.bytes += record.length;
    const isLast = crc32(id) % SEGMENT_BYTES_MORE < record.length;
    if (this.bytes >= SEGMENT_BYTES_MIN && isLast) await this.end();
  }

  /** Writes the segment collected so far. */
  async end(): Promise<void> {
    if (this.bytes === 0) return;
    const segment = Buffer.concat(this.records);
    this.records = [];
    this.bytes = 0;
    this.entries.push(await this.writer.add(this.nameOf(this.entries.length), segment));
  }
}

interface WrittenRecords {
  counts: ArchiveCounts;
  entries: EntryRecord[];
  /** The number of logged searches that were undefined. */
  leftOut: number;
}

/**
 * Writes the records of a collection as entries in `folder`, which is '' or ends with a slash. Logged searches that are
 * undefined are counted and left out.
 */
export async function writeRecords(
  writer: EntryWriter,
  folder: string,
  documents: Iterable<ArchivedDocument> | AsyncIterable<ArchivedDocument>,
  queries: Iterable<ArchivedQuery | undefined> | AsyncIterable<ArchivedQuery | undefined>,
): Promise<WrittenRecords> {
  const counts: ArchiveCounts = { documents: 0, chunks: 0, queries: 0 };
  const ofDocuments = new SegmentWriter(writer, (place) => documentsEntry(folder, place));
  for await (const document of documents) {
    await ofDocuments.add(document.docid, packDocument(document));
    counts.documents++;
    counts.chunks += document.chunks.length;
  }
  await ofDocuments.end();
  const ofQueries = new SegmentWriter(writer, (place) => queriesEntry(folder, place));
  let leftOut = 0;
  for await (const query of queries) {
    if (query) await ofQueries.add(Buffer.from(query.id), packQuery(query));
    if (query) counts.queries++;
    else leftOut++;
  }
  await ofQueries.end();
  return { counts, entries: [...ofDocuments.entries, ...ofQueries.entries], leftOut };
}
