// Makes LMDB's file as long as its pages are many. A file that was cut off would end the process (SIGBUS) where a page
// behind its end is read; zeros there are damage that LMDB and the checksums notice. LMDB itself leaves out free pages
// at the end, so a short file alone tells nothing. Called by lmdb.ts before an environment is opened.
import { existsSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { newestOf, PageFile } from './page-file.js';

/** `bytesMax`: what no file comes to; a damaged count of pages is not believed. */
export function coverPages(directory: string, bytesMax: number): void {
  const path = join(directory, 'data.mdb');
  if (!existsSync(path) || statSync(path).size === 0) return;
  const file = new PageFile(path);
  try {
    const meta = newestOf(file.metas());
    const bytes = meta ? (meta.lastPage + 1) * meta.pageBytes : 0;
    if (bytes > file.bytes && bytes < bytesMax) truncateSync(path, bytes);
  } finally {
    file.close();
  }
}
