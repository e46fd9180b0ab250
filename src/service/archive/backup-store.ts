// Where scheduled backups are kept: a folder, or a bucket of storage that speaks the protocol of Amazon S3. A backup has
// its name when all of it is there. Main thread.
import { createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
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
  /** Calls `work` with the path of a backup that is there, which is a copy below `temporary` if it is kept elsewhere. */
  withFile<T>(name: string, temporary: string, work: (path: string) => Promise<T>): Promise<T>;
}

const PARTIAL = /^sheaf-.*\.zip\.partial$/;

export class BackupFolder implements BackupStore {
  constructor(private readonly folder: string) {}

  async list(): Promise<StoredBackup[]> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    const names = (await readdir(this.folder)).sort();
    return Promise.all(names.map(async (name) => ({ name, bytes: (await stat(join(this.folder, name))).size })));
  }

  /** Writes beside the others under another name, which changes when all of it is on disk. */
  async put(name: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
    const { folder } = this;
    for (const left of await readdir(folder)) if (PARTIAL.test(left)) await rm(join(folder, left));
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

  async remove(name: string): Promise<void> {
    await rm(join(this.folder, name));
  }

  withFile<T>(name: string, _temporary: string, work: (path: string) => Promise<T>): Promise<T> {
    return work(join(this.folder, name));
  }
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
    const objects = await this.client.listObjects('/', prefix, LISTED_MAX);
    if (objects === null) throw new Error('the bucket does not exist');
    return objects
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

  async withFile<T>(name: string, temporary: string, work: (path: string) => Promise<T>): Promise<T> {
    await mkdir(temporary, { recursive: true, mode: 0o700 });
    const folder = await mkdtemp(join(temporary, 'backup-'));
    try {
      const response = await this.client.getObjectResponse(this.options.prefix + name);
      if (!response?.body) throw new Error('the bucket does not have it any more');
      const path = join(folder, name);
      await pipeline(Readable.fromWeb(response.body as ReadableStream), createWriteStream(path, { mode: 0o600 }));
      return await work(path);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
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
