// Where scheduled backups are kept: a folder, or a bucket of storage that speaks the protocol of Amazon S3. A backup has
// its name when all of it is there. Main thread.
import { type Stats, createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, open, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { S3mini } from 's3mini';
import { syncDirectory } from '../../storage/disk.js';

export interface StoredBackup {
  readonly name: string;
  readonly bytes: number;
}

export interface BackupStore {
  /** Everything that is there, by name. */
  list(): Promise<StoredBackup[]>;
  /** Stores a backup as a whole, or nothing of it. */
  put(name: string, bytes: AsyncIterable<Uint8Array>): Promise<void>;
  remove(name: string): Promise<void>;
  /** The digests of the entries that incremental backups share, and when each was stored, in milliseconds since 1970. */
  entries(): Promise<Map<string, number>>;
  putEntry(digest: string, bytes: Uint8Array): Promise<void>;
  readEntry(digest: string): Promise<Uint8Array>;
  removeEntry(digest: string): Promise<void>;
  /** Calls `work` with the path of a backup that is there, which is a copy below `temporary` if it is kept elsewhere. */
  withFile<T>(name: string, temporary: string, work: (path: string) => Promise<T>): Promise<T>;
}

const PARTIAL = /^sheaf-.*\.partial$/;
/** The folder of the entries, and how their names begin in a bucket. */
const ENTRIES = 'entries';
/** Digits of a digest that name a folder, so that none has too many files. */
const FOLDER_DIGITS = 2;

export class BackupFolder implements BackupStore {
  constructor(private readonly folder: string) {}

  async list(): Promise<StoredBackup[]> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    const names = (await readdir(this.folder)).sort();
    const all = names.map(async (name) => ({ name, stats: await statIfThere(join(this.folder, name)) }));
    return (await Promise.all(all)).flatMap(({ name, stats }) => (stats ? [{ name, bytes: stats.size }] : []));
  }

  async put(name: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
    const { folder } = this;
    for (const left of await readdir(folder)) if (PARTIAL.test(left)) await rm(join(folder, left));
    await written(folder, name, bytes);
  }

  async remove(name: string): Promise<void> {
    await rm(join(this.folder, name));
  }

  async entries(): Promise<Map<string, number>> {
    const found = new Map<string, number>();
    for (const path of await readdir(join(this.folder, ENTRIES), { recursive: true }).catch(() => [])) {
      const digest = basename(path);
      // A server that was killed may have left it.
      if (digest.endsWith('.partial')) await rm(join(this.folder, ENTRIES, path), { force: true });
      const stats = DIGEST.test(digest) ? await statIfThere(this.pathOf(digest)) : undefined;
      if (stats) found.set(digest, stats.mtimeMs);
    }
    return found;
  }

  async putEntry(digest: string, bytes: Uint8Array): Promise<void> {
    const folder = dirname(this.pathOf(digest));
    const isNew = (await mkdir(folder, { recursive: true, mode: 0o700 })) !== undefined;
    await written(folder, digest, bytes);
    // A power cut may otherwise take the new folder with it.
    if (isNew) for (const parent of [dirname(folder), this.folder]) syncDirectory(parent);
  }

  readEntry(digest: string): Promise<Uint8Array> {
    return readFile(this.pathOf(digest));
  }

  async removeEntry(digest: string): Promise<void> {
    await rm(this.pathOf(digest));
  }

  withFile<T>(name: string, _temporary: string, work: (path: string) => Promise<T>): Promise<T> {
    return work(join(this.folder, name));
  }

  private readonly pathOf = (digest: string): string =>
    join(this.folder, ENTRIES, digest.slice(0, FOLDER_DIGITS), digest);
}

/** Undefined for a file that has got another name, or has been deleted, since it was listed. */
const statIfThere = (path: string): Promise<Stats | undefined> =>
  stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });

const DIGEST = /^[0-9a-f]{64}$/;

/** Writes a file under another name, which changes when all of it is on disk. */
async function written(folder: string, name: string, bytes: Uint8Array | AsyncIterable<Uint8Array>): Promise<void> {
  const partial = join(folder, `${name}.partial`);
  const file = await open(partial, 'wx', 0o600);
  try {
    await writeFile(file, bytes);
    await file.sync();
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  await rename(partial, join(folder, name));
  syncDirectory(folder);
}

export interface BucketOptions {
  /** The address of the bucket, such as https://s3.eu-central-1.amazonaws.com/backups. */
  readonly url: string;
  readonly region: string;
  /** What the names of objects begin with, such as `sheaf/`. */
  readonly prefix: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** The protocol wants 5 MB in every piece but the last, and at most 10,000 pieces: later ones are larger. */
const PIECE_BYTES = 16 * 1024 * 1024;
const PIECES_OF_A_SIZE = 1000;
const LISTED_MAX = 100_000;
const ENTRIES_MAX = 10_000_000;
const DELETE_MS = 5000;
const TYPE = 'application/zip';

export class BackupBucket implements BackupStore {
  private readonly client: S3mini;

  /** What runs when `ending` is aborted fails soon, even if the storage does not answer. */
  constructor(
    private readonly options: BucketOptions,
    ending?: AbortSignal,
  ) {
    const { url, region, accessKeyId, secretAccessKey } = options;
    const asked: typeof fetch = (input, init) => {
      // An upload that is given up is still to be deleted.
      const signal = init?.method === 'DELETE' ? AbortSignal.timeout(DELETE_MS) : ending;
      return fetch(input, { ...init, signal: signal ?? null });
    };
    this.client = new S3mini({ endpoint: url, region, accessKeyId, secretAccessKey, fetch: asked });
  }

  async list(): Promise<StoredBackup[]> {
    const { prefix } = this.options;
    const objects = await this.client.listObjects('/', prefix, LISTED_MAX, { delimiter: '/' });
    if (objects === null) throw new Error('the bucket does not exist');
    return objects
      .filter(({ Key }) => !Key.endsWith('/'))
      .map(({ Key, Size }) => ({ name: Key.slice(prefix.length), bytes: Number(Size) }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Uploads piece by piece, so that one piece is in memory. */
  async put(name: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
    const { client } = this;
    const key = this.options.prefix + name;
    const upload = await client.getMultipartUploadId(key, TYPE);
    try {
      const parts: Awaited<ReturnType<S3mini['uploadPart']>>[] = [];
      for await (const piece of piecesOf(bytes))
        parts.push(await client.uploadPart(key, upload, piece, parts.length + 1));
      await client.completeMultipartUpload(key, upload, parts);
    } catch (error) {
      await client.abortMultipartUpload(key, upload).catch(() => undefined);
      throw error;
    }
  }

  async remove(name: string): Promise<void> {
    await this.client.deleteObject(this.options.prefix + name);
  }

  async entries(): Promise<Map<string, number>> {
    const objects = (await this.client.listObjects('/', this.keyOf(''), ENTRIES_MAX)) ?? [];
    return new Map(objects.map(({ Key, LastModified }) => [basename(Key), LastModified.getTime()]));
  }

  async putEntry(digest: string, bytes: Uint8Array): Promise<void> {
    await this.client.putObject(this.keyOf(digest), bytes, 'application/octet-stream');
  }

  async readEntry(digest: string): Promise<Uint8Array> {
    const bytes = await this.client.getObjectArrayBuffer(this.keyOf(digest));
    if (!bytes) throw new Error(`the bucket lacks the entry ${digest}`);
    return new Uint8Array(bytes);
  }

  async removeEntry(digest: string): Promise<void> {
    await this.client.deleteObject(this.keyOf(digest));
  }

  withFile<T>(name: string, temporary: string, work: (path: string) => Promise<T>): Promise<T> {
    return inFolder(temporary, async (folder) => {
      const response = await this.client.getObjectResponse(this.options.prefix + name);
      if (!response?.body) throw new Error('the bucket does not have it any more');
      const path = join(folder, name);
      await pipeline(Readable.fromWeb(response.body as ReadableStream), createWriteStream(path, { mode: 0o600 }));
      return work(path);
    });
  }

  private readonly keyOf = (digest: string): string => `${this.options.prefix}${ENTRIES}/${digest}`;
}

/** Runs `work` with a new folder below `temporary`, which is deleted afterwards. */
export async function inFolder<T>(temporary: string, work: (folder: string) => Promise<T>): Promise<T> {
  await mkdir(temporary, { recursive: true, mode: 0o700 });
  const folder = await mkdtemp(join(temporary, 'backup-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function* piecesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let waiting: Uint8Array[] = [];
  let length = 0;
  let pieces = 0;
  for await (const some of bytes) {
    waiting.push(some);
    length += some.length;
    if (length < PIECE_BYTES * (1 + Math.floor(pieces / PIECES_OF_A_SIZE))) continue;
    yield Buffer.concat(waiting);
    pieces++;
    waiting = [];
    length = 0;
  }
  if (length > 0) yield Buffer.concat(waiting);
}
