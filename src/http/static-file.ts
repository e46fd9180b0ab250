// Files that are held in memory and handed out as they are: bytes, type and tag, and the reply that has them or says
// that the client has them still. Front thread.
import { createHash } from 'node:crypto';
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
