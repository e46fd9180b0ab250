// Files that are held in memory and handed out as they are: bytes, type and tag, and the reply that has them or says
// that the client has them still. Front thread.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { codingFor } from './compression.js';
import type { Reply, Request } from './route.js';

export interface StaticFile {
  readonly bytes: Uint8Array;
  readonly contentType: string;
  /** Weak, so that it holds for compressed forms too. */
  readonly etag: string;
  /** Made smaller by brotli beforehand; where there is none it is compressed on its way, if it is worth it. */
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

/** What every answer to a browser's address bar has. `policy`: the Content-Security-Policy. */
export const guarded = (policy: string): Record<string, string> => ({
  'Content-Security-Policy': policy,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
});

/** `policy`: the Content-Security-Policy. */
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
 * The files of these types below a folder that the build has made. Each is read when it is first asked for, together with
 * its brotli form where there is one, and held.
 */
export class StaticFolder {
  private names: Promise<ReadonlySet<string>> | undefined;
  private readonly held = new Map<string, Promise<StaticFile>>();

  constructor(private readonly folder: string) {}

  /** `name`: relative to the folder, with `/` between the parts. Undefined for a name that is none of them. */
  async find(name: string): Promise<StaticFile | undefined> {
    const type = TYPES[extname(name)];
    if (type === undefined) return undefined;
    this.names ??= namesBelow(this.folder);
    // What could not be read is tried again by the next request.
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
