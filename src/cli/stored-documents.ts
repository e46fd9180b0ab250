// What a collection has already, for `sheaf ingest --resume`: document ids with the time they were ingested. Nothing is
// kept beside the files, so an ingest can go on from another machine. Called by ingest.ts and ingest-lines.ts.
import { stat } from 'node:fs/promises';
import type { FoundFile } from './find-files.js';
import type { Target } from './target.js';

export type StoredDocuments = ReadonlyMap<string, number>;

/** Document ids to the time of their ingest in ms; empty where there is no collection. */
export async function storedDocuments({ client, tenant, collection }: Target): Promise<StoredDocuments> {
  const stored = new Map<string, number>();
  for await (const { docid, ingested_at: at } of client.eachDocument(tenant, collection))
    stored.set(docid, Date.parse(at));
  return stored;
}

/** Those that the server lacks, and those that were changed after it got them. */
export async function filesToSend(files: readonly FoundFile[], stored: StoredDocuments): Promise<FoundFile[]> {
  const wanted: FoundFile[] = [];
  for (const file of files) {
    const storedAtMs = stored.get(file.id);
    if (storedAtMs === undefined || storedAtMs <= (await changedAtMs(file.path))) wanted.push(file);
  }
  return wanted;
}

/**
 * A file that is copied or moved here keeps the time of its content, but not that of its inode. Infinity where it
 * cannot be told.
 */
export async function changedAtMs(path: string): Promise<number> {
  const stats = await stat(path).catch(() => undefined);
  return stats ? Math.max(stats.mtimeMs, stats.ctimeMs) : Infinity;
}
