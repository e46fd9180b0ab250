// Static files: held in memory, with content type and ETag, and the reply that sends them or 304. Runs on front threads
// and on the main thread.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { codingFor } from './compression.js';
import type { Reply, Request } from './route.js';

export interface StaticFile {
  readonly bytes: Uint8Array;
  readonly contentType: string;
  /** A weak ETag, so that it also holds for compressed forms. */
  readonly etag: string;
  /** The file compressed by brotli at build time. Absent: it is compressed on the fly if that is worth it. */
  readonly brotli?: Uint8Array;
}

export function staticFile(bytes: Uint8Array, contentType: string, brotli?: Uint8Array): StaticFile {
  return {
    bytes,
    contentType,
    etag: `W/"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`,
    ...(brotli && { brotli }),
  };
}

/** Security headers of every reply that a browser may show as a page. `policy` is the Content-Security-Policy. */
export const guarded = (policy: string): Record<string, string> => ({
  'Content-Security-Policy': policy,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
});

/** Replies with the file, or with 304 if the client has it. `policy` is the Content-Security-Policy. */
export function staticReply(
  request: Request,
  { bytes, contentType, etag, brotli }: StaticFile,
  policy: string,
  cacheControl = 'no-cache',
): Reply {
  const isKnown = request
    .header('if-none-match')
    .split(',')
    .some((tag) => ['*', etag].includes(tag.trim()));
  const headers = { ETag: etag, 'Cache-Control': cacheControl, ...guarded(policy) };
  if (isKnown) return { status: 304, headers, contentType, bytes: new Uint8Array() };
  if (brotli === undefined || codingFor(request.header('accept-encoding')) !== 'br')
    return { status: 200, headers, contentType, bytes };
  return {
    status: 200,
    headers: { ...headers, 'Content-Encoding': 'br', Vary: 'Accept-Encoding' },
    contentType,
    bytes: brotli,
  };
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.png': 'image/png',
};

/**
 * The files of these types in a folder made by the build. Each is read on first use, together with its brotli form if
 * there is one, and kept in memory.
 */
export class StaticFolder {
  private names: Promise<ReadonlySet<string>> | undefined;
  private readonly held = new Map<string, Promise<StaticFile>>();

  constructor(private readonly folder: string) {}

  /** `name` is relative to the folder, with `/` as separator. Undefined if there is no such file. */
  async find(name: string): Promise<StaticFile | undefined> {
    const type = TYPES[extname(name)];
    if (type === undefined) return undefined;
    this.names ??= namesBelow(this.folder);
    // After a failed read, the next request tries again.
    this.names.catch(() => (this.names = undefined));
    if (!(await this.names).has(name)) return undefined;
    const found = this.held.get(name) ?? this.read(name, type, await this.names);
    this.held.set(name, found);
    found.catch(() => this.held.delete(name));
    return found;
  }

  private async read(name: string, type: string, names: ReadonlySet<string>): Promise<StaticFile> {
    const packed = `${name}.br`;
    const [bytes, brotli] = await Promise.all([
      readFile(join(this.folder, name)),
      names.has(packed) ? readFile(join(this.folder, packed)) : undefined,
    ]);
    return staticFile(bytes, type, brotli);
  }
}

async function namesBelow(folder: string): Promise<ReadonlySet<string>> {
  return new Set(await readdir(folder, { recursive: true }));
}
