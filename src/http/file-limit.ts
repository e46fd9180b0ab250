// How large the file of a form may be, and how much of it is kept in memory, by the kind of body that a route takes.
// Pure; used by body.ts.
import type { Route } from './route.js';

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
